"""Tiles of a grid in several threads of a CPU, and the count of their steps.

A small product that is divided among all threads costs more than it saves. Here each thread trains whole tiles and
multiplies by itself. A tile that is alone gets all threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from threading import Event, Lock
from typing import TypeVar

from fairlevel.exceptions import FairLevelError
from fairlevel.predictors.protocol import Tiling
from fairlevel.threads import finish, is_shared, single_threads

Tile = TypeVar("Tile")
Result = TypeVar("Result")

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all) over all tiles."""


class Cancelled(FairLevelError):
    """Another tile failed, or the user stopped the run."""


def in_threads(
    work: Callable[[Tile, Callable[[], None]], Result], tiles: Sequence[Tile], tiling: Tiling
) -> list[Result]:
    """``work(tile, check)`` for all tiles, in order; ``check`` raises as soon as another tile has failed."""
    stopped = Event()

    def check() -> None:
        if stopped.is_set():
            raise Cancelled("training was stopped.")

    if is_shared() or min(tiling.threads, len(tiles)) == 1:
        return [work(tile, check) for tile in tiles]
    pool = single_threads(tiling.threads)
    running = [pool.submit(work, tile, check) for tile in tiles]
    try:
        for finished in as_completed(running):
            finished.result()  # raises at once, whichever tile failed
        return [future.result() for future in running]
    finally:
        stopped.set()
        finish(running)


class StepCounter:
    """Adds up the steps of all tiles and reports them from one thread at a time."""

    def __init__(self, tiles: int, steps: int, progress: Progress | None) -> None:
        self._done, self._all, self._progress, self._lock = [0] * tiles, tiles * steps, progress, Lock()

    def __call__(self, tile: int, step: int) -> None:
        if self._progress is not None:
            with self._lock:
                self._done[tile] = step
                self._progress(sum(self._done), self._all)

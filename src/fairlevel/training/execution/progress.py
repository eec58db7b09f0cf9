"""Counting steps over all tiles of a grid."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all) over all tiles."""


class StepCounter:
    """Adds up the steps of all tiles and reports them from one thread at a time."""

    def __init__(self, tiles: int, steps: int, progress: Progress | None) -> None:
        self._done, self._all, self._progress, self._lock = [0] * tiles, tiles * steps, progress, Lock()

    def __call__(self, tile: int, step: int) -> None:
        if self._progress is not None:
            with self._lock:
                self._done[tile] = step
                self._progress(sum(self._done), self._all)

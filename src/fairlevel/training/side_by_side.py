"""Tiles of a grid side by side on the cores of a CPU.

Plain PyTorch divides every small product among all threads, and waking them costs more than they save. Here each thread
takes whole tiles and multiplies by itself. A tile that is alone gets all threads; some products then round differently
in the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TypeVar

import torch

from fairlevel.exceptions import FairLevelError

Tile = TypeVar("Tile")
Result = TypeVar("Result")


class Abandoned(FairLevelError):
    """Another tile failed, or the user stopped the run."""


def side_by_side(
    work: Callable[[Tile, Callable[[], None]], Result], tiles: Sequence[Tile], workers: int
) -> list[Result]:
    """``work(tile, go_on)`` for all tiles, in order; ``go_on`` raises as soon as another tile has failed."""
    stopped = Event()

    def go_on() -> None:
        if stopped.is_set():
            raise Abandoned("training was stopped.")

    if workers == 1:
        return [work(tile, go_on) for tile in tiles]
    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(workers, initializer=lambda: torch.set_num_threads(1))
    try:
        return list(pool.map(lambda tile: work(tile, go_on), tiles))
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)  # for threads that start later; this one's number did not change

"""Where tasks run."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

import pandas as pd
import torch

Task = Callable[[], pd.DataFrame]
"""Something that can be pickled and called."""


@dataclass(frozen=True)
class LocalExecutor:
    """Processes of this machine, each with its share of the cores.

    Small networks gain little from many threads, so the default is one process a core, at most eight where they share a
    GPU.
    """

    processes: int | None = None

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, pd.DataFrame]]:
        """(number of the task, its rows) in the order in which they finish."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        count = self.processes or (min(8, cores) if torch.cuda.is_available() else cores)
        count = max(1, min(count, len(tasks)))
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(count, context, initializer=_share_cores, initargs=(max(1, cores // count),))
        try:
            futures = {pool.submit(_call, task): number for number, task in enumerate(tasks)}
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            for child in multiprocessing.active_children():
                child.terminate()  # what still runs would finish for nobody
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _share_cores(threads: int) -> None:
    torch.set_num_threads(threads)


def _call(task: Task) -> pd.DataFrame:
    return task()

"""Processes of this machine."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

import pandas as pd
import torch

from fairlevel.benchmark.executors.protocol import Failure, Task, call
from fairlevel.exceptions import FairLevelError, InvalidInput

GPU_PROCESSES = 8  # at most, where they share a GPU
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of the C library's mallopt
DEATHS = 3  # workers in a row that may die without a task finishing between them


class WorkersDied(FairLevelError, RuntimeError):
    """Workers die again and again: memory is the usual cause."""


@dataclass(frozen=True)
class LocalExecutor:
    """One process a core, at most eight where they share a GPU; each computes on one thread."""

    processes: int | None = None

    def __post_init__(self) -> None:
        if self.processes is not None and self.processes < 1:
            raise InvalidInput(f"processes={self.processes} was given; at least 1 is needed.")

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, pd.DataFrame | Failure]]:
        left = dict(enumerate(tasks))
        deaths = 0
        while left:
            try:
                for number, outcome in self._round(dict(left)):
                    del left[number]
                    deaths = 0
                    yield number, outcome
            except BrokenProcessPool:
                deaths += 1
                if deaths == DEATHS:
                    raise WorkersDied(
                        f"A worker died {DEATHS} times in a row, most likely for want of memory; try fewer "
                        "--processes. "
                        "What is finished is kept."
                    ) from None

    def _round(self, tasks: Mapping[int, Task]) -> Iterator[tuple[int, pd.DataFrame | Failure]]:
        """Run tasks until all are done or a worker dies."""
        count = min(self.processes or _default_processes(), len(tasks))
        pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=_start_worker)
        finished = False
        try:
            futures = {pool.submit(call, task): number for number, task in tasks.items()}
            for future in as_completed(futures):
                yield futures[future], future.result()
            finished = True
        finally:
            if not finished:
                for child in multiprocessing.active_children():
                    child.terminate()  # what still runs would finish for nobody
            pool.shutdown(wait=True, cancel_futures=True)


def _default_processes() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(GPU_PROCESSES, cores) if torch.cuda.is_available() else cores


def _start_worker() -> None:
    """A worker ends with its parent, for which it would wait forever, and keeps the memory it has: steps of training
    ask for the same blocks again and again.
    """
    parent = multiprocessing.parent_process()
    if hasattr(libc := ctypes.CDLL(None), "mallopt"):
        for option in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
            libc.mallopt(option, 2**30)

    def wait() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()

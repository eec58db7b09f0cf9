"""Run tasks in processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from dataclasses import dataclass
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from fairlevel.exceptions import FairLevelError, InvalidInput
from fairlevel.executors.protocol import Answer, Failure, call
from fairlevel.executors.shared_gpu import is_shared, shared_gpu
from fairlevel.memory import keep_freed_memory
from fairlevel.openmp import cores, waiting_asleep

GPU_IN_TURNS = 8  # processes that take turns on one GPU
MAX_DEATHS = 3  # workers in a row that may die before any task finishes


class WorkersDied(FairLevelError, RuntimeError):
    """Workers die again and again; the usual cause is too little memory."""


@dataclass(frozen=True)
class LocalExecutor:
    """One process per core, at most eight where they take turns on a GPU; each computes on one thread."""

    processes: int | None = None

    def __post_init__(self) -> None:
        if self.processes is not None and self.processes < 1:
            raise InvalidInput(f"processes={self.processes} was given; at least 1 is needed.")

    def run(self, tasks: Sequence[Callable[[], Answer]]) -> Iterator[tuple[int, Answer | Failure]]:
        with shared_gpu() if _has_gpu() and self.processes != 1 else nullcontext():
            yield from self._run(dict(enumerate(tasks)))

    def _run(self, left: dict[int, Callable[[], Answer]]) -> Iterator[tuple[int, Answer | Failure]]:
        deaths = 0
        while left:
            try:
                for number, outcome in self._run_pool(dict(left)):
                    del left[number]
                    deaths = 0
                    yield number, outcome
            except BrokenProcessPool:
                deaths += 1
                if deaths == MAX_DEATHS:
                    raise WorkersDied(
                        f"A worker died {MAX_DEATHS} times in a row, most likely because memory ran out. "
                        "Try fewer --processes; finished tasks are kept."
                    ) from None

    def _run_pool(self, tasks: Mapping[int, Callable[[], Answer]]) -> Iterator[tuple[int, Answer | Failure]]:
        """Run tasks in one pool of workers until all are finished or a worker dies."""
        count = min(self.processes or _default_processes(), len(tasks))
        context = _OwnProcesses()
        pool = ProcessPoolExecutor(count, context, initializer=_start_worker)
        finished = False
        try:
            with waiting_asleep():  # submitting starts the workers
                futures = {pool.submit(call, task): number for number, task in tasks.items()}
            for future in as_completed(futures):
                yield futures[future], future.result()
            finished = True
        finally:
            if not finished:
                for worker in context.started:
                    if worker.is_alive():
                        worker.terminate()  # nobody will read what it still computes
            pool.shutdown(wait=True, cancel_futures=True)


class _OwnProcesses(SpawnContext):
    """Starts fresh processes and remembers them, so that only these are ended."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[SpawnProcess] = []

    def Process(self, *arguments: Any, **named: Any) -> SpawnProcess:  # type: ignore[override]  # noqa: N802
        process = SpawnProcess(*arguments, **named)
        self.started.append(process)
        return process


def _has_gpu() -> bool:
    import torch  # workers whose tasks do without it need not import it

    return torch.cuda.is_available()


def _default_processes() -> int:
    return min(GPU_IN_TURNS, cores()) if _has_gpu() and not is_shared() else cores()


def _start_worker() -> None:
    """Keep freed memory for the next training step, and exit when the parent process exits."""
    keep_freed_memory()
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()

"""Where tasks run: processes of this machine, or a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from fairlevel.exceptions import FairLevelError, InvalidInput
from fairlevel.networks.memory import keep_freed_memory
from fairlevel.threads import cores, waiting_asleep

ON_ONE_GPU = 8  # processes
MAX_DEATHS = 3  # workers in a row that may die before any task finishes
RETRIES = 5  # how often a task is run again after its node or worker of a cluster was lost

Answer = TypeVar("Answer")
"""What a task returns, such as rows of a study. A task has no arguments and can be pickled."""


class WorkersDied(FairLevelError, RuntimeError):
    """Workers die again and again; the usual cause is too little memory."""


class RayMissing(FairLevelError, ImportError):
    """Ray was requested but is not installed."""


@dataclass(frozen=True)
class Failure:
    """A task that ended without an answer: one sentence for an expected error, the traceback for any other."""

    message: str


def call(task: Callable[[], Answer]) -> Answer | Failure:
    """Run a task on one thread, so that its numbers do not depend on the number of cores; errors become failures."""
    os.environ["OMP_NUM_THREADS"] = "1"  # which PyTorch reads where it is imported later
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    try:
        return task()
    except FairLevelError as error:
        return Failure(str(error))
    except Exception:
        return Failure(traceback.format_exc())


@dataclass(frozen=True)
class LocalExecutor:
    """One process per core, at most eight where they share a GPU; each computes on one thread."""

    processes: int | None = None

    def __post_init__(self) -> None:
        if self.processes is not None and self.processes < 1:
            raise InvalidInput(f"processes={self.processes} was given; at least 1 is needed.")

    def run(self, tasks: Sequence[Callable[[], Answer]]) -> Iterator[tuple[int, Answer | Failure]]:
        """Yield (number of the task, its answer or its failure) in the order in which tasks finish. If a worker is
        lost, its task is run again.
        """
        left, deaths = dict(enumerate(tasks)), 0
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
        count, others = min(self.processes or _default_processes(), len(tasks)), multiprocessing.active_children()
        pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=_start_worker)
        with waiting_asleep():  # submitting starts the workers
            futures = {pool.submit(call, task): number for number, task in tasks.items()}
        workers = [child for child in multiprocessing.active_children() if child not in others]
        finished = False
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
            finished = True
        finally:
            if not finished:
                for worker in workers:
                    worker.terminate()  # nobody will read what it still computes
            pool.shutdown(wait=True, cancel_futures=True)


def _default_processes() -> int:
    import torch  # workers whose tasks do without it need not import it

    return min(ON_ONE_GPU, cores()) if torch.cuda.is_available() else cores()


def _start_worker() -> None:
    """Keep freed memory for the next training step, and exit when the parent process exits."""
    keep_freed_memory()
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@dataclass(frozen=True)
class RayExecutor:
    """Runs tasks on a Ray cluster, one Ray task each; the tasks of a lost node are run again elsewhere."""

    address: str | None = None  # of a running cluster, such as "auto" or "ray://head:10001"; None: on this machine
    gpus: float = 0.0  # share of a GPU that each task needs; with 0.125, eight tasks share one GPU

    def __post_init__(self) -> None:
        if not 0 <= self.gpus <= 1:
            raise InvalidInput(
                f"gpus={self.gpus} was given; a share of a GPU between 0 and 1 is needed, such as 0.125."
            )

    @contextmanager
    def connected(self) -> Iterator[None]:
        """A connection to the cluster that several runs share; their workers stay warm."""
        try:
            import ray
        except ImportError:
            raise RayMissing("Ray is not installed; type: pip install 'fairlevel-study[ray]'.") from None
        if ray.is_initialized():
            yield
            return
        try:
            ray.init(address=self.address, log_to_driver=False, include_dashboard=False)
        except (ConnectionError, ValueError) as error:
            raise InvalidInput(f"No Ray cluster answers at {self.address!r}: {error}") from None
        try:
            yield
        finally:
            ray.shutdown()

    def run(self, tasks: Sequence[Callable[[], Answer]]) -> Iterator[tuple[int, Answer | Failure]]:
        with self.connected():
            import ray

            remote: Any = ray.remote(num_cpus=1, num_gpus=self.gpus, max_retries=RETRIES)(call)
            pending = {remote.remote(task): number for number, task in enumerate(tasks)}
            while pending:
                ready, _ = ray.wait(list(pending), num_returns=1)
                number = pending.pop(ready[0])
                try:
                    outcome = ray.get(ready[0])
                except ray.exceptions.RayError as error:  # the worker died, again and again
                    outcome = Failure(f"The task was lost on the cluster: {' '.join(str(error).split())[:300]}")
                yield number, outcome


Executor = LocalExecutor | RayExecutor
EXECUTORS: dict[str, type[Executor]] = {"local": LocalExecutor, "ray": RayExecutor}

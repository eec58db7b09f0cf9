"""Run tasks on a Ray cluster: one Ray task each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fairlevel.exceptions import FairLevelError, InvalidInput
from fairlevel.executors.protocol import Answer, Failure, call

RETRIES = 5  # how often a task is run again after its node or worker was lost


class RayMissing(FairLevelError, ImportError):
    """Ray was requested but is not installed."""


@dataclass(frozen=True)
class RayExecutor:
    """Runs tasks on a cluster; the tasks of a lost node are run again elsewhere.

    Parameters
    ----------
    address : address of a running cluster, such as "auto" or "ray://head:10001"; None starts one on this machine
    gpus : share of a GPU that each task needs; with 0.125, eight tasks share one GPU
    """

    address: str | None = None
    gpus: float = 0.0

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
            raise RayMissing("Ray is not installed; type: pip install 'fairlevel[ray]'.") from None
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

"""The synthetic study: methods on the paper's synthetic design, at several strengths of the interaction."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from fairlevel.benchmark.datasets import BETAS, synthetic_datasets
from fairlevel.benchmark.methods import PAPER_METHODS, resolve_methods
from fairlevel.benchmark.protocol import Protocol
from fairlevel.benchmark.run import Done, in_stages
from fairlevel.benchmark.task import Task
from fairlevel.exceptions import InvalidInput
from fairlevel.executors import Executor, Failure


@dataclass(frozen=True)
class SyntheticStudy:
    """What to run. The defaults are the paper's (three strengths, six methods, three seeds), plus ``fbo_closed``.
    A suite of methods, such as "map", stands for its methods.
    """

    protocol: Protocol
    rows: int = 5000
    betas: tuple[float, ...] = BETAS
    attributes: int = 5
    seeds: tuple[int, ...] = (0, 1, 2)
    methods: tuple[str, ...] = (*PAPER_METHODS, "fbo_closed")
    device: str = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "methods", tuple(method.name for method in resolve_methods(self.methods)))
        for name in ("betas", "seeds", "methods"):
            if not getattr(self, name):
                raise InvalidInput(f"No {name} were given; at least one is needed.")

    @property
    def tasks(self) -> list[Task]:
        """One task per design, seed and method."""
        datasets = synthetic_datasets(self.betas, self.attributes, self.rows)
        return in_stages(
            [
                Task(dataset, seed, method, self.protocol, self.device)
                for dataset in datasets
                for seed in self.seeds
                for method in self.methods
            ]
        )

    def run(self, executor: Executor, done: Done = lambda finished, total: None) -> pd.DataFrame:
        """One row per trained model, in an order that does not depend on which task finished first."""
        tasks = self.tasks
        for task in tasks[:1]:
            task.dataset.problem(task.seed, task.protocol)  # bad input fails here, before any process starts
        results: dict[int, pd.DataFrame] = {}
        for number, outcome in executor.run(tasks):
            if isinstance(outcome, Failure):
                raise InvalidInput(outcome.message)
            results[number] = outcome
            done(len(results), len(tasks))
        return pd.concat([results[number] for number in range(len(tasks))], ignore_index=True)

"""Run the tasks of a study."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from fairlevel.exceptions import InvalidInput
from fairlevel_study.datasets import Dataset
from fairlevel_study.executors import Executor, Failure
from fairlevel_study.methods import METHODS
from fairlevel_study.protocol import Protocol
from fairlevel_study.rows import Key
from fairlevel_study.store import Store
from fairlevel_study.task import Task

_TABLES_AT_ONCE = 12

Done = Callable[[int, int], None]
"""A function that is called with (number of finished tasks, number of all tasks)."""


def tasks_of(
    datasets: Sequence[Dataset], seeds: Sequence[int], methods: Sequence[str], protocol: Protocol, device: str = "auto"
) -> list[Task]:
    """One task per dataset, seed and method, in the order in which they should run: seed by seed, so that a run that is
    stopped is a study of fewer seeds; within a seed twelve tables at a time, and slow methods first, so that no slow
    task runs alone at the end.
    """
    for name, given in (("datasets", datasets), ("seeds", seeds), ("methods", methods)):
        if not given:
            raise InvalidInput(f"No {name} were given; at least one is needed.")
    return [
        Task(dataset, seed, method, protocol, device)
        for seed in sorted(seeds)
        for first in range(0, len(datasets), _TABLES_AT_ONCE)
        for slow in (True, False)
        for dataset in datasets[first : first + _TABLES_AT_ONCE]
        for method in methods
        if METHODS[method].slow == slow
    ]


def run_tasks(
    tasks: Sequence[Task], store: Store, executor: Executor, done: Done = lambda finished, total: None
) -> dict[Key, Failure]:
    """Run the tasks without rows in the store, and write the rows of each as soon as it ends; returns the failures."""
    missing = [task for task in tasks if not store.finished(task.key)]
    count = len(tasks) - len(missing)
    done(count, len(tasks))
    failures: dict[Key, Failure] = {}
    for number, outcome in executor.run(missing):
        key = missing[number].key
        if isinstance(outcome, Failure):
            failures[key] = outcome
        else:
            store.write(key, outcome)
        count += 1
        done(count, len(tasks))
    return failures


def rows_of_tasks(tasks: Sequence[Task], executor: Executor, done: Done = lambda finished, total: None) -> pd.DataFrame:
    """The rows of all tasks, in the order of the tasks; the first failure ends the run."""
    first = tasks[0]
    first.dataset.problem(first.seed, first.protocol)  # bad input fails here, before any process starts
    results: dict[int, pd.DataFrame] = {}
    for number, outcome in executor.run(tasks):
        if isinstance(outcome, Failure):
            raise InvalidInput(outcome.message)
        results[number] = outcome
        done(len(results), len(tasks))
    return pd.concat([results[number] for number in range(len(tasks))], ignore_index=True)

"""Run the tasks of a study that are not finished yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairlevel.benchmark.executors import Executor, Failure
from fairlevel.benchmark.methods import METHODS
from fairlevel.benchmark.store import Key, Store
from fairlevel.benchmark.task import Task

Done = Callable[[int, int], None]
"""A function that is called with (number of finished tasks, number of all tasks)."""


def slowest_first(tasks: Sequence[Task]) -> list[Task]:
    """Tasks of slow methods first, so that no slow task runs alone at the end."""
    return sorted(tasks, key=lambda task: not METHODS[task.method].slow)


def run_tasks(
    tasks: Sequence[Task], store: Store, executor: Executor, done: Done = lambda finished, total: None
) -> dict[Key, Failure]:
    """Run the tasks without rows in the store, and write the rows of each as soon as it ends; returns the failures."""
    missing = slowest_first([task for task in tasks if not store.finished(task.key)])
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

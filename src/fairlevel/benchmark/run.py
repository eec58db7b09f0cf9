"""Run the tasks of a study that are not finished yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairlevel.benchmark.methods import METHODS
from fairlevel.benchmark.store import Key, Store
from fairlevel.benchmark.task import Task
from fairlevel.executors import Executor, Failure

_TABLES_AT_ONCE = 12

Done = Callable[[int, int], None]
"""A function that is called with (number of finished tasks, number of all tasks)."""


def in_stages(tasks: Sequence[Task]) -> list[Task]:
    """Seed by seed, so that a run that is stopped is a study of fewer seeds; within a seed twelve tables at a time, and
    slow methods first, so that no slow task runs alone at the end.
    """
    names = list(dict.fromkeys(task.dataset.name for task in tasks))
    stage = {name: number // _TABLES_AT_ONCE for number, name in enumerate(names)}
    return sorted(tasks, key=lambda task: (task.seed, stage[task.dataset.name], not METHODS[task.method].slow))


def run_tasks(
    tasks: Sequence[Task], store: Store, executor: Executor, done: Done = lambda finished, total: None
) -> dict[Key, Failure]:
    """Run the tasks without rows in the store, and write the rows of each as soon as it ends; returns the failures."""
    missing = in_stages([task for task in tasks if not store.finished(task.key)])
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

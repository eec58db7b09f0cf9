"""Run what is missing, keep what is finished."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairlevel.benchmark.executors import Executor, Failure
from fairlevel.benchmark.store import Key, Store
from fairlevel.benchmark.task import Task

SLOW_METHODS = ("itd", "itd_all_labels", "adversarial", "hsic", "fbo", "fbo_all_labels", "auto")

Done = Callable[[int, int], None]
"""Called with (tasks done, tasks in all)."""


def in_good_order(tasks: Sequence[Task]) -> list[Task]:
    """The slow methods first, so that none is left to run alone at the end."""
    return sorted(tasks, key=lambda task: SLOW_METHODS.index(task.method) if task.method in SLOW_METHODS else 99)


def run_tasks(
    tasks: Sequence[Task], store: Store, executor: Executor, done: Done = lambda finished, total: None
) -> dict[Key, Failure]:
    """Run the tasks whose rows are not there yet and keep each as soon as it ends; what failed, and why."""
    missing = in_good_order([task for task in tasks if not store.finished(task.key)])
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

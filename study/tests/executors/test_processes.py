"""The settings of worker processes, and the order of tasks."""

import multiprocessing
import os
import time
from types import SimpleNamespace

import pytest

from fairlevel_study.executors import LocalExecutor
from fairlevel_study.protocol import PROTOCOLS
from fairlevel_study.task import tasks_of
from study.tests.small_tasks import Environment, Sleeps, Threads


@pytest.mark.parametrize(("given", "seen"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_waiting_threads_of_workers_sleep_unless_the_user_says_otherwise(monkeypatch, given, seen):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    if given is not None:
        monkeypatch.setenv("OMP_WAIT_POLICY", given)
    assert sorted(LocalExecutor(2).run([Environment(), Environment()])) == [(0, seen), (1, seen)]
    assert os.environ.get("OMP_WAIT_POLICY") == given


def test_tasks_that_import_pytorch_themselves_compute_on_one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert list(LocalExecutor(1).run([Threads()])) == [(0, 1)]


def test_only_own_workers_are_ended():
    """A run that is given up ended every child of the process, those of the caller included."""
    mine = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(600,))
    mine.start()
    before = set(multiprocessing.active_children())  # tests before this one may have left workers, too
    try:
        run = LocalExecutor(1).run([Environment(), Sleeps()])  # the second task begins as the first ends
        next(run)
        run.close()
        assert set(multiprocessing.active_children()) == before
        assert mine.is_alive()
    finally:
        mine.terminate()
        mine.join()


def test_seed_by_seed_a_dozen_tables_at_a_time_slow_methods_first():
    tables = [SimpleNamespace(name=f"t{number}") for number in range(14)]
    tasks = tasks_of(tables, (1, 0), ("r2", "itd"), PROTOCOLS["small"])
    order = [(task.seed, int(task.dataset.name[1:]) // 12, task.method) for task in tasks]
    assert order == sorted(order, key=lambda entry: (*entry[:2], entry[2] == "r2"))
    assert order[:13] == [(0, 0, "itd")] * 12 + [(0, 0, "r2")]

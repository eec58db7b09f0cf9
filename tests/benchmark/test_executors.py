"""The settings of worker processes, and the order of tasks."""

import multiprocessing
import os
import time
from types import SimpleNamespace

import pandas as pd
import pytest

from fairlevel.benchmark.executors import LocalExecutor
from fairlevel.benchmark.run import slowest_first


class Environment:
    """A task that reports a variable as its worker sees it."""

    def __call__(self):
        return pd.DataFrame({"value": [os.environ.get("OMP_WAIT_POLICY")]})


@pytest.mark.parametrize(("given", "seen"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_waiting_threads_of_workers_sleep_unless_the_user_says_otherwise(monkeypatch, given, seen):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    if given is not None:
        monkeypatch.setenv("OMP_WAIT_POLICY", given)
    ((_, found),) = LocalExecutor(1).run([Environment()])
    assert found["value"].tolist() == [seen]
    assert os.environ.get("OMP_WAIT_POLICY") == given


class Sleep:
    """A task that never ends."""

    def __call__(self):
        time.sleep(600)


def test_only_own_workers_are_ended():
    """A run that is given up ended every child of the process, those of the caller included."""
    mine = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(600,))
    mine.start()
    try:
        run = LocalExecutor(2).run([Environment(), Sleep()])
        next(run)
        run.close()
        assert multiprocessing.active_children() == [mine]
        assert mine.is_alive()
    finally:
        mine.terminate()
        mine.join()


def test_slow_methods_run_first():
    tasks = [SimpleNamespace(method=name) for name in ("r2", "auto", "gdp", "itd")]
    assert [task.method for task in slowest_first(tasks)] == ["auto", "itd", "r2", "gdp"]

"""The settings of worker processes, and the order of tasks."""

import os
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


def test_slow_methods_run_first():
    tasks = [SimpleNamespace(method=name) for name in ("r2", "auto", "gdp", "itd")]
    assert [task.method for task in slowest_first(tasks)] == ["auto", "itd", "r2", "gdp"]

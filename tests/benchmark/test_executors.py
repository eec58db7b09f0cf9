"""Worker processes get their settings; the process that starts them keeps its own."""

import os

import pandas as pd
import pytest

from fairlevel.benchmark.executors import LocalExecutor


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

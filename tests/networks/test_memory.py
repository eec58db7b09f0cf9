"""The memory setting of the process changes only where somebody asked for it."""

from types import SimpleNamespace

import numpy as np
import pytest

from fairlevel import FairRegressor
from fairlevel.networks import memory
from fairlevel.networks.optimizers import Adam


class Library:
    """A C library that records what it is asked."""

    def __init__(self):
        self.calls = []

    def mallopt(self, option, value):
        self.calls.append((option, value))


@pytest.fixture
def library(monkeypatch):
    fake = Library()
    monkeypatch.setattr(memory, "ctypes", SimpleNamespace(CDLL=lambda name: fake))
    monkeypatch.setattr(memory, "sys", SimpleNamespace(platform="linux"))
    for name in ("MALLOC_TRIM_THRESHOLD_", memory.SWITCH):
        monkeypatch.delenv(name, raising=False)
    for function in (memory.keep_freed_memory, memory.keep_freed_memory_if_asked):
        function.cache_clear()
    yield fake
    for function in (memory.keep_freed_memory, memory.keep_freed_memory_if_asked):
        function.cache_clear()


def test_the_function_sets_both_thresholds_once(library):
    memory.keep_freed_memory()
    memory.keep_freed_memory()
    assert library.calls == [(-3, 32 * 2**20), (-1, 2**30)]


def test_the_users_own_setting_wins(library, monkeypatch):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1000")
    memory.keep_freed_memory()
    assert library.calls == []


@pytest.mark.parametrize(("value", "calls"), [(None, 0), ("0", 0), ("1", 2)])
def test_training_asks_only_where_the_variable_is_set(library, monkeypatch, value, calls):
    if value is not None:
        monkeypatch.setenv(memory.SWITCH, value)
    x = np.linspace(0, 1, 60).reshape(30, 2)
    FairRegressor(weight=0, predictor="mlp", optimizer=Adam(steps=2), device="cpu", random_state=0).fit(x, x[:, 0])
    assert len(library.calls) == calls

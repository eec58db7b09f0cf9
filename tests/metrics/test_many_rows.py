"""Figures of very many rows come from a random sample of them."""

import numpy as np
import pytest

from fairlevel import compare, dpvar, dpvar_interval
from fairlevel.metrics import inputs
from fairlevel.metrics.inputs import read_rows

RANDOM = np.random.default_rng(1)
A, E, OTHER = RANDOM.standard_normal((3, 6000))
F = np.sin(A) + E


def test_a_sample_has_rows_of_every_column():
    rows = read_rows(F, np.column_stack([A, OTHER]), np.arange(1.0, 6001), A**2 + OTHER, np.arange(6000) // 2)
    assert rows.sampled(0, 6000) is rows
    some = rows.sampled(0, 500)
    place = np.searchsorted(np.sort(F), some.prediction)
    place = np.argsort(F)[place]
    assert (np.diff(place) > 0).all()
    for name in ("prediction", "sensitive", "row_weight", "factors", "groups"):
        np.testing.assert_array_equal(getattr(some, name), getattr(rows, name)[place])
    assert not np.array_equal(rows.sampled(1, 500).prediction, some.prediction)


def test_figures_are_those_of_the_sample(monkeypatch):
    few = np.sort(np.random.default_rng(0).choice(6000, 1000, replace=False))
    expected = dpvar_interval(F[few], sensitive_features=A[few])
    pair = compare(F[few], OTHER[few], sensitive_features=A[few])
    whole = dpvar_interval(F, sensitive_features=A)
    monkeypatch.setattr(inputs.EvaluationRows.sampled, "__defaults__", (1000,))
    found = dpvar_interval(F, sensitive_features=A)
    assert found == expected
    assert found.low < whole.estimate < found.high
    assert dpvar(None, F, sensitive_features=A) == pytest.approx(found.estimate, rel=1e-12)
    assert compare(F, OTHER, sensitive_features=A) == pair

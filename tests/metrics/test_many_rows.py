"""Figures of very many rows come from a random sample of them."""

import numpy as np
import pytest

from fairlevel import audit, compare, dpvar, dpvar_interval
from fairlevel.metrics.inputs import read_rows

RANDOM = np.random.default_rng(1)
A, E, OTHER = RANDOM.standard_normal((3, 6000))
F = np.sin(A) + E


def test_a_sample_has_rows_of_every_column():
    rows = read_rows(F, np.column_stack([A, OTHER]), np.arange(1.0, 6001), A**2 + OTHER, np.arange(6000) // 2)
    np.testing.assert_array_equal(rows.sample(0), np.arange(6000))
    some = rows.take(rows.sample(0, 500))
    place = np.searchsorted(np.sort(F), some.prediction)
    place = np.argsort(F)[place]
    assert (np.diff(place) > 0).all()
    for name in ("prediction", "sensitive", "row_weight", "factors", "groups"):
        np.testing.assert_array_equal(getattr(some, name), getattr(rows, name)[place])
    assert not np.array_equal(rows.take(rows.sample(1, 500)).prediction, some.prediction)


def test_figures_are_those_of_the_sample(monkeypatch):
    few = np.sort(np.random.default_rng(0).choice(6000, 1000, replace=False))
    expected = dpvar_interval(F[few], sensitive_features=A[few])
    pair = compare(F[few], OTHER[few], sensitive_features=A[few])
    whole = dpvar_interval(F, sensitive_features=A)
    monkeypatch.setattr("fairlevel.metrics.inputs.MOST_ROWS", 1000)
    found = dpvar_interval(F, sensitive_features=A)
    assert found == expected
    assert found.low < whole.estimate < found.high
    assert dpvar(None, F, sensitive_features=A) == pytest.approx(found.estimate, rel=1e-12)
    assert compare(F, OTHER, sensitive_features=A) == pair


def test_an_audit_is_that_of_its_sample():
    weight = np.tile([0.0, 1.0, 1.0], 2000)
    used = np.flatnonzero(weight)
    few = used[np.sort(np.random.default_rng(3).choice(4000, 600, replace=False))]
    group = np.where(E > 0, "high", "low")
    found, expected = (
        audit(F[some], sensitive_features=A[some], y_true=OTHER[some], by=group[some], random_state=3, **options)
        for some, options in ((np.arange(6000), {"rows": 600, "sample_weight": weight}), (few, {}))
    )
    assert found.interval == expected.interval
    assert found.accuracy == expected.accuracy
    assert found.groups["by"].equals(expected.groups["by"])
    assert (found.rows, found.provenance.rows_used, found.provenance.rows_dropped) == (600, 600, 2000)
    assert "come from 600 of 4,000 rows, sampled at random (seed 3)" in found.provenance.method[-1]
    assert len(expected.provenance.method) == 1
    with pytest.raises(ValueError, match="rows=1 was given"):
        audit(F, sensitive_features=A, rows=1)

"""Sums over rows, or groups of rows, against dense matrices of their members."""

import numpy as np
import pytest

from fairlevel import GroupMean, SplineMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics.units import Units

ROWS = 200
RANDOM = np.random.default_rng(0)
LEVELS, NUMBERS = RANDOM.integers(0, 20, (ROWS, 1)).astype(float), RANDOM.standard_normal((ROWS, 1))
SMOOTHERS = {
    "columns": SplineMean().prepare(Attributes(NUMBERS)),
    "levels": GroupMean().prepare(Attributes(LEVELS)),
    "levels and columns": GroupMean().prepare(Attributes(np.hstack([LEVELS, NUMBERS]))),
}
UNITS = {
    "rows": Units.of(Attributes(NUMBERS)),
    "groups": Units.of(Attributes(NUMBERS, groups=np.array(list("xyzuvw"))[RANDOM.integers(0, 6, ROWS)])),
    "pairs": Units.of(Attributes(NUMBERS, groups=RANDOM.permutation(ROWS) // 2)),
}


@pytest.fixture(params=UNITS)
def units(request):
    return UNITS[request.param]


@pytest.fixture(params=SMOOTHERS)
def scores(request, units):
    """Scores of two predictions, and the same as dense matrices, (unit, function)."""
    smoother = SMOOTHERS[request.param]
    membership = np.eye(units.count)[units.number]
    weighted = np.random.default_rng(1).standard_normal((2, ROWS)) / ROWS
    dense = [membership.T @ (each[:, None] * smoother.functions.written_out()) for each in weighted]
    return [units.scores(smoother.functions, each) for each in weighted], dense, smoother


def weights(smoother):
    return smoother.shrinkage(0.02)


def test_sums_are_those_of_the_members(units):
    membership = np.eye(units.count)[units.number]
    for values in (NUMBERS[:, 0], np.hstack([NUMBERS, LEVELS])):
        np.testing.assert_allclose(units.sums(values), membership.T @ values, rtol=1e-12, atol=1e-13)
    flags = NUMBERS[:, 0] > 1.5
    np.testing.assert_array_equal(units.any(flags), membership.T @ flags > 0)
    seen = np.concatenate([table.ravel() for table in units.by_size])
    np.testing.assert_array_equal(np.sort(seen), np.arange(ROWS))
    assert all(len(set(units.number[rows])) == 1 for table in units.by_size for rows in table)


def test_products_are_those_of_all_functions(scores):
    (first, second), (dense, other), smoother = scores
    q = weights(smoother)
    np.testing.assert_allclose(first.products(second, q), (dense * q * other).sum(axis=1), rtol=1e-9, atol=1e-18)


def test_traces_are_those_of_dense_matrices(scores):
    (first, second), (dense, other), smoother = scores
    root = np.sqrt(weights(smoother))
    for found, k in (
        (first.covariance(), dense.T @ dense),
        (first.covariance() - second.covariance(), dense.T @ dense - other.T @ other),
    ):
        m = root[:, None] * k * root
        expected = [np.trace(np.linalg.matrix_power(m, power)) for power in (1, 2, 3)]
        np.testing.assert_allclose(found.traces(weights(smoother)), expected, rtol=1e-9)

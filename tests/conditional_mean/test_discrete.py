"""Levels, cells, factors and weights against dense least squares, and counted levels against columns."""

import numpy as np
import pytest

from fairlevel import GroupMean
from fairlevel.conditional_mean.groups import few_categories
from fairlevel.conditional_mean.smoother import RIDGES
from fairlevel.metrics.debiased import leave_out_errors
from fairlevel.metrics.units import Units
from tests.conditional_mean.dense import Design
from tests.conditional_mean.discrete_rows import ALL_CELLS, CASES, FREE_CASES, ROWS, WrittenOut

SOME_RIDGES = (1e-6, 1e-3, 0.1)
F = np.random.default_rng(4).standard_normal((3, ROWS))


@pytest.fixture(scope="module", params=CASES)
def case(request):
    rows = CASES[request.param]()
    at = rows.take(np.arange(0, ROWS, 3))
    return rows, at, ALL_CELLS.prepare(rows), Design.of(ALL_CELLS, rows, at)


def limit(rows, ridge):
    """Smooth functions with next to no second moment are left out: what they add is small."""
    return 1e-11 if few_categories(rows.columns).all() else 1e-10 / ridge


def test_means_are_those_of_dense_least_squares(case):
    rows, at, smoother, design = case
    for ridge in SOME_RIDGES:
        allowed = limit(rows, ridge)
        expected, there = design.smoother(rows.weight, ridge), design.smoother(rows.weight, ridge, at_fit=False)
        np.testing.assert_allclose(smoother.apply(F, ridge), F @ expected.T, rtol=0, atol=10 * allowed)
        np.testing.assert_allclose(smoother.predict(F, ridge, at), F @ there.T, rtol=0, atol=10 * allowed)
        assert smoother.df(ridge) == pytest.approx(np.trace(expected), rel=allowed)
        leverage = smoother.nuisance_leverage + smoother.leverage(smoother.shrinkage(ridge))
        np.testing.assert_allclose(leverage, expected.diagonal(), rtol=0, atol=10 * allowed)


def test_functions_are_orthonormal_and_moments_fall(case):
    _, _, smoother, _ = case
    functions, weight, levels = smoother.functions.written_out(), smoother.row_weight, len(smoother.functions.scale)
    gram = functions.T @ (weight[:, None] * functions)
    root = 1 / smoother.functions.scale  # centred indicators are a projection: all but the constant
    np.testing.assert_allclose(gram[:levels, :levels], np.eye(levels) - root[:, None] * root, atol=1e-10)
    np.testing.assert_allclose(gram[levels:, levels:], np.eye(len(gram) - levels), atol=1e-6)
    np.testing.assert_allclose(gram[levels:, :levels], 0, atol=1e-8)
    nuisance = smoother.nuisance.T @ (weight[:, None] * smoother.nuisance)
    np.testing.assert_allclose(nuisance, np.eye(len(nuisance)), atol=1e-9)
    np.testing.assert_allclose(smoother.nuisance.T @ (weight[:, None] * functions), 0, atol=1e-8)
    assert (np.diff(smoother.moments) <= 0).all()


def test_functions_at_the_fitted_rows_are_the_functions(case):
    rows, _, smoother, _ = case
    nuisance, functions = smoother.at(rows)
    np.testing.assert_allclose(nuisance, smoother.nuisance, rtol=0, atol=1e-9)
    np.testing.assert_allclose(functions.written_out(), smoother.functions.written_out(), rtol=0, atol=1e-8)


def test_sums_and_squares_are_those_of_written_out_functions(case):
    _, _, smoother, _ = case
    functions, written = smoother.functions, smoother.functions.written_out()
    weighted = smoother.row_weight * (F - (F @ smoother.row_weight)[:, None])
    np.testing.assert_allclose(functions.sums(weighted), weighted @ written, rtol=0, atol=1e-12)
    c, q = functions.sums(weighted), smoother.shrinkage(np.array(SOME_RIDGES))
    np.testing.assert_allclose(functions.combined(c), c @ written.T, rtol=0, atol=1e-10)
    np.testing.assert_allclose(functions.squares(q), q @ np.square(written).T, rtol=1e-9)
    np.testing.assert_allclose(functions.take(np.arange(9)).squares(q), functions.squares(q)[:, :9], rtol=1e-12)


def test_fewer_functions_give_nearly_the_same_mean(case):
    rows, at, smoother, _ = case
    spread = np.sqrt(rows.weight @ (F - (F @ rows.weight)[:, None]).T ** 2)
    for least in (0.0, 0.3, 0.9, 1.1):
        some = smoother.trimmed(0.003, least)
        kept = smoother.shrinkage(0.003)[smoother.free :]
        np.testing.assert_array_equal(some.moments, smoother.moments[kept >= least * kept[:1]])
        lost = smoother.apply(F, 0.003) - some.apply(F, 0.003)
        assert (np.sqrt(rows.weight @ lost.T**2) <= least * spread + 1e-12).all()
        there = some.at(at)[1].written_out()
        np.testing.assert_allclose(there, some.functions.written_out()[::3], rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", FREE_CASES)
def test_counted_levels_are_columns_like_any_others(name):
    rows = FREE_CASES[name]()
    counted, columns = GroupMean().prepare(rows), WrittenOut().prepare(rows)
    assert len(counted.functions.scale) == (20 if "few" in name else 75)
    assert columns.functions.level is None
    assert counted.free - 1 == columns.free  # indicators of all levels hold the constant, too
    np.testing.assert_allclose(counted.moments, columns.moments, rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(counted.df(RIDGES), columns.df(RIDGES), rtol=1e-8)
    for ridge in (*SOME_RIDGES, np.inf):
        np.testing.assert_allclose(counted.apply(F, ridge), columns.apply(F, ridge), rtol=0, atol=1e-7)
    found, expected = (leave_out_errors(F, each, Units.of(rows), RIDGES, 2.0) for each in (counted, columns))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(counted.choose_ridge(F), columns.choose_ridge(F))


def test_profiles_never_seen_get_the_average_of_all_levels():
    rows = FREE_CASES["free, weights"]()
    cell = np.unique(rows.values, axis=0, return_inverse=True)[1].ravel()
    means = np.bincount(cell, rows.weight * F[0]) / np.bincount(cell, rows.weight)
    elsewhere = rows.take(np.arange(4))
    elsewhere.values[:] = 99.0
    found = ALL_CELLS.prepare(rows).predict(F[:1], 0.0, elsewhere)
    np.testing.assert_allclose(found, rows.weight @ F[0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(ALL_CELLS.prepare(rows).predict(F[:1], 0.0, rows)[0], means[cell], rtol=0, atol=1e-10)

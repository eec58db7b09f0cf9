"""Penalised and free cells of discrete attributes against dense least squares, which knows nothing of cells."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.linalg import lstsq

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.cells.discrete_columns import few_categories
from fairlevel.conditional_mean.cells.membership import FeaturesAndCells, Membership
from fairlevel.conditional_mean.cells.penalised_cells import PenalisedCells
from fairlevel.conditional_mean.factorisation import Features, factor
from fairlevel.metrics.leave_one_out import leave_out_dpvar
from fairlevel.metrics.units import IndependentUnits, null_variance
from tests.conditional_mean.cells.discrete_rows import ALL_CELLS, CASES, FREE_CASES, ROWS

UNSEEN = 5  # rows of profiles that were never seen
RIDGES = (1e-6, 1e-3, 0.1)


def design(mean, fit, at):
    """Columns of all functions, those that are penalised last, at the fitted rows and at others; how many are free."""
    features = mean.joint_map(fit, 0)

    def columns(rows):
        given = np.empty((len(rows), 0)) if rows.given is None else rows.given
        free, penalised = features(rows)
        return np.hstack([np.ones((len(rows), 1)), given, free, penalised]), 1 + given.shape[1] + free.shape[1]

    here, free = columns(fit)
    return here, columns(at)[0], free


def dense(fit, free, weight, ridge):
    """Coefficients of least squares with a ridge on the columns after the free ones: (column, fit row)."""
    penalised = fit.shape[1] - free
    stacked = np.vstack([np.sqrt(weight)[:, None] * fit, np.zeros((penalised, fit.shape[1]))])
    stacked[len(fit) :, free:] = ridge**0.5 * np.eye(penalised)
    right = np.zeros((len(stacked), len(fit)))
    np.fill_diagonal(right, np.sqrt(weight))
    return lstsq(stacked, right, cond=1e-12, lapack_driver="gelsy")[0]


def is_smooth(rows):
    return not few_categories(rows.columns).all()


def has_free_cells(rows):
    return ALL_CELLS.joint_map(rows, 0).features.cells_are_free


def unseen(profiles):
    """Profiles of known categories that no row has."""
    every = np.stack(np.meshgrid(*map(np.unique, profiles.T), indexing="ij"), axis=-1).reshape(-1, profiles.shape[1])
    return every[~(every[:, None] == profiles).all(axis=2).any(axis=1)]


@pytest.fixture(scope="module", params=CASES)
def case(request):
    fit = CASES[request.param]()
    mean = ALL_CELLS
    at = fit.take(np.arange(0, ROWS, 7))
    at.values[:UNSEEN, :3] = unseen(fit.values[:, :3])[:UNSEEN]
    return fit, at, mean.prepare(fit), mean.prepare(fit, at), *design(mean, fit, at)


def test_means_are_those_of_dense_least_squares(case):
    fit, at, here, there, columns, columns_at, free = case
    each = torch.eye(ROWS, dtype=torch.float64)
    for ridge in RIDGES:
        # smooth functions with next to no second moment are left out: what they add is small at rows that count
        limit = 1e-10 / ridge if is_smooth(fit) else 1e-11
        # and of free cells that no row has, least squares knows nothing
        rows, rows_at = fit.counts > 0, (at.counts > 0) & (np.arange(len(at)) >= UNSEEN)
        if not is_smooth(fit) and not has_free_cells(fit):
            rows, rows_at = slice(None), slice(None)
        coefficients = dense(columns, free, fit.weight, ridge)
        expected, expected_at = columns @ coefficients, columns_at @ coefficients
        np.testing.assert_allclose(here.apply(each, ridge).T[rows], expected[rows], rtol=0, atol=limit)
        np.testing.assert_allclose(there.apply(each, ridge).T[rows_at], expected_at[rows_at], rtol=0, atol=limit)
        assert float(here.spectrum.df(ridge)) == pytest.approx(np.trace(expected), rel=limit)


def test_cells_are_columns_like_any_others(case):
    fit, at, here, there, *_ = case
    features = ALL_CELLS.joint_map(fit, 0)
    plain = factor(as_columns(features, fit), torch.from_numpy(fit.weight), as_columns(features, at))
    torch.testing.assert_close(here.moments, plain.moments, rtol=1e-9, atol=1e-14)
    each, limit = torch.eye(ROWS, dtype=torch.float64), 1e-8 if is_smooth(fit) else 1e-11
    for ridge in (*RIDGES, float("inf")):
        torch.testing.assert_close(there.apply(each, ridge), plain.apply(each, ridge), rtol=0, atol=limit)
        expected = replace(plain, at=plain.fit).apply(each, ridge)
        torch.testing.assert_close(here.apply(each, ridge), expected, rtol=0, atol=limit)


def as_columns(features, rows):
    """Features of which none is known to be the indicator of a cell."""
    given = np.empty((len(rows), 0)) if rows.given is None else rows.given
    return Features.of(given, FeaturesAndCells.without_cells(*features(rows)))


def test_estimate_and_noise_are_those_of_dense_matrices(case):
    fit, _, smoother, _, columns, _, free = case
    weight = fit.weight
    f = np.random.default_rng(9).standard_normal(ROWS) + columns[:, -1]
    f = (f - weight @ f) / np.sqrt(weight @ (f - weight @ f) ** 2)
    ridge = torch.tensor([0.01], dtype=torch.float64)
    found = leave_out_dpvar(torch.from_numpy(f)[None], smoother, ridge)

    s, nuisance = columns @ dense(columns, free, weight, 0.01), 1 if fit.given is None else 1 + fit.given.shape[1]
    first = columns[:, :nuisance] @ dense(columns[:, :nuisance], nuisance, weight, 0.0)
    q = np.eye(ROWS) - np.linalg.matrix_power(np.eye(ROWS) - s, 4) - first
    centred, fitted, own, leverage = f - first @ f, (s - first) @ f, q.diagonal(), s.diagonal()
    usable = leverage < 0.9
    left_out = np.where(usable, 1 - leverage, 1)
    noise = centred * (centred - fitted) / left_out
    noise[~usable] = np.average(noise[usable], weights=weight[usable])
    alone = np.where(first.diagonal() < 0.9, 1 - first.diagonal(), 1)
    of_factors = weight * (first.diagonal() - weight) * (leverage < 0.5 - 1e-9)  # two rows of a cell have 0.5
    beyond = centred / alone
    lost = of_factors @ (beyond * (beyond - (centred - fitted) / left_out))
    assert float(found.estimate) == pytest.approx(weight * f @ q @ f - weight * own @ noise + lost, rel=1e-9)

    residual, counted = (centred - fitted) / np.sqrt(left_out), weight > 0
    np.testing.assert_allclose(found.residual[0][counted], residual[counted], rtol=0, atol=1e-8)
    form = q * (weight * residual**2)  # rows and columns of tr(qKqK)
    expected = 2 * (np.trace(form @ form) - np.sum(form.diagonal() ** 2))
    assert float(null_variance(found, smoother, IndependentUnits())) == pytest.approx(expected, rel=1e-8)


def test_functions_are_orthonormal_and_moments_fall(case):
    smoother = case[2]
    gram = smoother.fit_basis.T @ (smoother.row_weight.unsqueeze(1) * smoother.fit_basis)
    torch.testing.assert_close(gram, torch.eye(len(gram), dtype=torch.float64), atol=1e-6, rtol=0)
    assert (smoother.moments.diff() <= 0).all()


def test_free_cells_need_no_decomposition(monkeypatch):
    assert all(has_free_cells(make()) for make in FREE_CASES.values())
    sizes, svd = [], torch.linalg.svd
    monkeypatch.setattr(torch.linalg, "svd", lambda x, **how: sizes.append(min(x.shape)) or svd(x, **how))
    smoother = ALL_CELLS.prepare(FREE_CASES["free, counted rows, some none"]())
    assert smoother.fit_basis.shape[1] > 60
    assert max(sizes) <= 1


def test_profiles_never_seen_get_the_average_of_those_with_the_same_factor():
    fit = FREE_CASES["free, discrete factor"]()
    at = fit.take(np.arange(8))
    at.values[:] = 99.0
    f = np.random.default_rng(3).standard_normal(ROWS)
    found = ALL_CELLS.prepare(fit, at).apply(torch.from_numpy(f)[None], 0.0)[0]
    profiles, cell = np.unique(fit.columns, axis=0, return_inverse=True)
    means = np.bincount(cell, fit.weight * f) / np.bincount(cell, fit.weight)
    expected = [means[profiles[:, -1] == factor].mean() for factor in at.factors[:, 0]]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["discrete", "counted rows, some none", "two weights"])
def test_most_cells_need_no_decomposition(name, monkeypatch):
    sizes, eigh = [], torch.linalg.eigh
    monkeypatch.setattr(torch.linalg, "eigh", lambda matrix: sizes.append(len(matrix)) or eigh(matrix))
    smoother = ALL_CELLS.prepare(CASES[name]())
    assert max(sizes) < 0.6 * len(smoother.moments)


def test_cells_that_single_columns_describe_add_nothing():
    random = np.random.default_rng(0)
    group = np.r_[np.arange(12), random.integers(0, 12, 38)].astype(float)
    smoother = ALL_CELLS.prepare(Attributes(group[:, None]))
    assert smoother.fit_basis.shape == (50, 12)
    assert not len(smoother.moments)


def test_rotated_indicators_span_all_cells():
    random = np.random.default_rng(0)
    number = torch.from_numpy(np.r_[np.arange(300), np.arange(120), np.arange(40, 60)])
    weight = torch.full((440,), 1 / 440, dtype=torch.float64)
    others = torch.from_numpy(random.standard_normal((440, 7)))
    cells = Membership(number, 300)
    rotated = PenalisedCells.of(cells, (others,), weight)
    shared = cells.at_rows(rotated.shared)
    own = torch.cat([each.own_functions(0, cells).written_out() for each in rotated.by_weight], dim=1)
    assert shared.shape[1] + own.shape[1] == 300
    assert own.shape[1] == 180 + 100 - 2 * 8  # of one row and of two; twenty cells of three rows are few
    indicators = torch.nn.functional.one_hot(number, 300).double()
    moment = torch.cat([torch.full((each.count,), each.weight, dtype=torch.float64) for each in rotated.by_weight])
    scaled = torch.cat([shared, own * moment.sqrt()], dim=1)
    torch.testing.assert_close(scaled @ scaled.T, indicators @ indicators.T, atol=1e-12, rtol=0)
    for other in (others, shared, torch.ones(440, 1)):
        assert float((own.T @ (weight.unsqueeze(1) * other.double())).abs().max()) < 1e-14

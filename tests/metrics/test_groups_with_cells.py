"""Rows in groups and functions of cells that are not written out, against those that are."""

import numpy as np
import pytest
import torch

from fairlevel.conditional_mean.basis import Basis
from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.metrics.choice import Candidate
from fairlevel.metrics.group_scores import GroupScores
from fairlevel.metrics.leave_group_out import leave_group_out_errors, leave_groups_out_dpvar
from fairlevel.metrics.no_disparity_test import NoDisparityTest, p_value
from fairlevel.metrics.row_groups import RowGroups
from fairlevel.metrics.units import IndependentUnits, null_variance
from tests.conditional_mean.cells.discrete_rows import ALL_CELLS, CASES, ROWS

NAMES = ["discrete", "two weights", "one continuous column", "discrete factor", "free", "free, continuous factor"]
SIZES = {"persons": 150, "towns": 6}
RIDGES = torch.tensor([0.003, 0.05], dtype=torch.float64)


@pytest.fixture(scope="module", params=NAMES)
def smoothers(request):
    found = ALL_CELLS.prepare(CASES[request.param]())
    assert found.fit.sets
    basis = Basis(found.fit.written_out)
    return found, LinearSmoother(basis, basis, found.moments, found.row_weight, found.nuisance)


@pytest.fixture(scope="module", params=SIZES)
def groups(request):
    return RowGroups.of(np.random.default_rng(1).integers(0, SIZES[request.param], ROWS))


@pytest.fixture(scope="module")
def predictions():
    values = np.random.default_rng(2).standard_normal((2, ROWS))
    return torch.from_numpy(values - values.mean(axis=1, keepdims=True))


def test_estimates_and_their_noise(smoothers, groups, predictions):
    found, expected = (leave_groups_out_dpvar(predictions, each, RIDGES, groups) for each in smoothers)
    torch.testing.assert_close(found.estimate, expected.estimate, rtol=1e-9, atol=1e-13)
    torch.testing.assert_close(found.fitted, expected.fitted, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(found.residual, expected.residual, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(found.diagonal, expected.diagonal, rtol=1e-9, atol=1e-11)
    units = IndependentUnits(groups)
    noise, dense = null_variance(found, smoothers[0], units), null_variance(expected, smoothers[1], units)
    torch.testing.assert_close(noise, dense, rtol=1e-9, atol=0)


def test_errors_of_ridges(smoothers, groups, predictions):
    found, expected = (leave_group_out_errors(predictions, each, groups, RIDGES, 2.0) for each in smoothers)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=0)


@pytest.fixture(scope="module")
def covariances(smoothers, groups, predictions):
    """Scores by cells and of all functions, and the weights q of each."""
    first, scale = smoothers[0].nuisance, smoothers[0].row_weight * predictions[0]
    bases = [each.fit.beyond(first).signed for each in smoothers]
    q = smoothers[0].shrinkage(RIDGES)[:, first:]
    return [(GroupScores.of(each, scale, groups), each.weights(q)) for each in bases]


def test_forms_of_noise(covariances):
    (found, q), (expected, dense_q) = covariances
    k = expected.columns.T @ expected.columns
    torch.testing.assert_close(found.diagonal() @ q.T, expected.diagonal() @ dense_q.T, rtol=1e-10, atol=0)
    torch.testing.assert_close(found.covariance().diagonal() @ q.T, k.diagonal() @ dense_q.T, rtol=1e-10, atol=0)
    torch.testing.assert_close(found.forms(q[0]), expected.forms(dense_q[0]), rtol=1e-8, atol=1e-14)
    form = ((dense_q @ k.square()) * dense_q).sum(dim=1)
    torch.testing.assert_close(found.covariance().trace_of_square(q), form, rtol=1e-9, atol=0)
    torch.testing.assert_close(found.covariance().trace_of_square(q[1]), form[1], rtol=1e-9, atol=0)


def test_forms_of_differences(smoothers, groups, predictions):
    first = smoothers[0].nuisance
    found, expected = (each.fit.beyond(first).signed for each in smoothers)
    q = smoothers[0].shrinkage(0.01)[first:]
    one, other = (smoothers[0].row_weight * each for each in predictions)
    by_cells = GroupScores.of(found, one, groups).covariance() - GroupScores.of(found, other, groups).covariance()
    dense = GroupScores.of(expected, one, groups).covariance() - GroupScores.of(expected, other, groups).covariance()
    torch.testing.assert_close(by_cells.trace_of_square(found.weights(q)), dense.trace_of_square(q), rtol=1e-9, atol=0)


def test_draws_have_this_covariance(covariances):
    (found, q), _ = covariances
    covariance = found.covariance()
    count = len(covariance.diagonal())
    every = torch.cat([found.columns, torch.from_numpy(found.cells.toarray())], dim=1)  # (group, function)
    root = covariance.in_normals(torch.eye(count, dtype=torch.float64))
    torch.testing.assert_close(root, every.T, rtol=1e-12, atol=0)
    normal = torch.from_numpy(np.random.default_rng(3).standard_normal((600, covariance.normal_count)))
    forms = (normal @ every).square() @ q.T
    torch.testing.assert_close(covariance.drawn_forms(normal, q), forms, rtol=1e-9, atol=0)


def test_p_values_differ_by_chance_alone(covariances, smoothers, groups, predictions):
    (found, q), (expected, dense_q) = covariances
    coefficients = found.columns.sum(dim=0), torch.from_numpy(found.cells.sum(axis=0))
    p = p_value(q, found.covariance(), torch.cat(coefficients) * 1.1, 0)
    dense = p_value(dense_q, expected.covariance(), expected.columns.sum(dim=0) * 1.1, 0)
    assert abs(p - dense) < 4 * (2 * dense * (1 - dense) / 4000) ** 0.5 + 1e-3
    one, other = (NoDisparityTest((Candidate(ALL_CELLS, each, IndependentUnits(groups)),), 0) for each in smoothers)
    weighted = smoothers[0].row_weight * predictions[1]
    torch.testing.assert_close(one._traces(weighted), other._traces(weighted), rtol=1e-10, atol=0)

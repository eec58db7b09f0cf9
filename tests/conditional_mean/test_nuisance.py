"""Functions of legitimate factors L are no disparity: dense float64 projections are the truth."""

import numpy as np
import pytest
import torch

from fairlevel.conditional_mean import LINEAR_MEANS, RidgeMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.blockwise import Functions
from fairlevel.conditional_mean.leave_one_out import leave_out_covariance
from fairlevel.exceptions import InvalidInput
from fairlevel.metrics.leave_one_out import leave_out_dpvar, leave_out_matrix
from fairlevel.metrics.streamed import Plan, measured
from tests.drawn_rows import gaussian

MEANS = sorted(LINEAR_MEANS)
WEIGHTS = {"equal": np.ones(90), "unequal": np.linspace(1, 4, 90)}


def given_of(a, seed=3):
    """Functions of L on unlike scales, correlated with A; the last is a combination of the others."""
    random = np.random.default_rng(seed)
    factor = a[:, 0] + random.standard_normal(len(a))
    columns = np.column_stack([factor, 1e4 + 1e3 * factor**2])
    return np.column_stack([columns, columns[:, 0] - columns[:, 1] / 500])


def projection(columns, weight):
    """P = X (XᵀWX)⁺ XᵀW."""
    root = np.sqrt(weight)[:, None]
    basis, singular, _ = np.linalg.svd(root * columns / np.linalg.norm(root * columns, axis=0), full_matrices=False)
    basis = basis[:, singular > 1e-8 * singular[0]]
    return (basis @ basis.T) / root * root.T


@pytest.mark.parametrize("weights", WEIGHTS)
def test_ridge_beyond_the_factors_is_the_dense_one(weights):
    f, a = gaussian(90, 3, 2)
    given, weight = given_of(a), WEIGHTS[weights] / WEIGHTS[weights].sum()
    smoother = RidgeMean().prepare(Attributes(a, given, WEIGHTS[weights]))
    assert smoother.nuisance == 3  # the constant and two functions that are not combinations of others
    onto = projection(np.column_stack([np.ones(90), given]), weight)
    standard = (a - weight @ a) / np.sqrt(weight @ (a - weight @ a) ** 2)
    rest = standard - onto @ standard
    for ridge in (0.0, 0.01, 1.0):
        gram = rest.T @ (weight[:, None] * rest) + ridge * np.eye(3)
        beyond = rest @ np.linalg.solve(gram, rest.T * weight)
        fitted = smoother.apply(f, ridge).numpy()
        np.testing.assert_allclose(fitted, f.numpy() @ (onto + beyond).T, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(smoother.beyond_nuisance(f), f.numpy() - f.numpy() @ onto.T, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", MEANS)
def test_basis_is_orthonormal_and_starts_with_the_factors(name, weights):
    _, a = gaussian(90, 2, 1)
    given, weight = given_of(a), WEIGHTS[weights] / WEIGHTS[weights].sum()
    smoother = LINEAR_MEANS[name]().prepare(Attributes(a, given, WEIGHTS[weights]))
    basis = smoother.fit_basis.numpy()
    np.testing.assert_allclose(basis.T @ (weight[:, None] * basis), np.eye(basis.shape[1]), atol=1e-6)
    onto = projection(np.column_stack([np.ones(90), given]), weight)
    leading = basis[:, : smoother.nuisance]
    np.testing.assert_allclose(leading @ (leading * weight[:, None]).T, onto, atol=1e-10)
    np.testing.assert_allclose(smoother.shrinkage(1e9)[: smoother.nuisance], 1)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", MEANS)
def test_functions_of_the_factors_change_no_disparity(name, weights):
    f, a = gaussian(90, 2, 2)
    given = given_of(a)
    smoother = LINEAR_MEANS[name]().prepare(Attributes(a, given, WEIGHTS[weights]))
    ridge = torch.full((2,), 0.1, dtype=torch.float64)
    moved = f + torch.from_numpy(given @ [3.0, 1e-3, -2.0] + 5)
    for estimate in (
        lambda values: leave_out_dpvar(values, smoother, ridge).estimate,
        lambda values: leave_out_covariance(values, smoother, ridge),
        lambda values: leave_out_matrix(values, smoother, 0.1),
    ):
        torch.testing.assert_close(estimate(moved), estimate(f), rtol=1e-7, atol=1e-9)


def test_estimate_is_that_of_refitted_means():
    """For a projection: the plug-in beyond L less the noise, each row's from a fit without it, and what L fits of h."""
    f, a = gaussian(60, 2, 1)
    given = given_of(a)[:, :1]
    found = leave_out_dpvar(f, RidgeMean().prepare(Attributes(a, given)), torch.zeros(1, dtype=torch.float64))
    values, small, large = f[0].numpy(), np.column_stack([np.ones(60), given]), np.column_stack([np.ones(60), given, a])
    equal = np.full(60, 1 / 60)
    beyond = projection(large, equal) - projection(small, equal)
    centred = values - projection(small, equal) @ values
    noise = np.empty(60)
    for row in range(60):
        others = np.arange(60) != row
        coefficients, *_ = np.linalg.lstsq(large[others], values[others], rcond=None)
        noise[row] = centred[row] * (values[row] - large[row] @ coefficients)
    leverage = projection(small, equal).diagonal()
    alone = centred / (1 - leverage)
    lost = np.mean((leverage - 1 / 60) * alone * (alone - noise / centred))
    expected = values @ beyond @ values / 60 - np.mean(beyond.diagonal() * noise) + lost
    assert float(found.estimate) == pytest.approx(expected, rel=1e-8)


def test_attributes_that_the_factors_explain_leave_nothing():
    f, a = gaussian(80, 2, 1)
    for name in ("ridge", "splines"):
        smoother = LINEAR_MEANS[name]().prepare(Attributes(a[:, :1], np.column_stack([a, a**2, a[:, :1] ** 3])))
        assert smoother.free == smoother.nuisance
    assert len(RidgeMean().prepare(Attributes(a, a @ [[1.0, 2.0], [0.5, -1.0]])).moments) == 0
    assert float(leave_out_dpvar(f, RidgeMean().prepare(Attributes(a, a)), torch.zeros(1)).estimate) == pytest.approx(
        0, abs=1e-15
    )


@pytest.mark.parametrize("name", MEANS)
def test_blocks_know_the_factors(name, monkeypatch):
    monkeypatch.setattr("fairlevel.conditional_mean.blockwise.BLOCK", 17)
    f, a = gaussian(90, 2, 1)
    rows, mean = Attributes(a, given_of(a), WEIGHTS["unequal"]), LINEAR_MEANS[name]()
    equal = Attributes(a, given_of(a))
    together = mean.prepare(equal)
    unit = (f[0] - f[0].mean()) / f[0].std(correction=0)
    plan = Plan(
        (Functions.of(mean, equal, 0),), np.zeros(1, int), np.array([0.1]), (0.1,), ("",), np.zeros(1), np.ones(1), 0
    )
    (found,) = measured(plan, equal, unit.unsqueeze(0).numpy())
    expected = leave_out_dpvar(unit.unsqueeze(0), together, torch.full((1,), 0.1, dtype=torch.float64))
    np.testing.assert_allclose(found.estimate, expected.estimate[0], rtol=1e-7)
    np.testing.assert_allclose(found.fitted_variance, expected.fitted.square().mean(), rtol=1e-7)
    plan = Plan(
        (Functions.of(mean, rows, 0),), np.zeros(1, int), np.array([0.1]), (0.1,), ("",), np.zeros(1), np.ones(1), 0
    )
    smoother = plan.fitted(plan.moments(rows, f.numpy())).by_smoother[0].smoother
    basis = smoother.basis(smoother.functions(rows)).numpy()
    leading, weight = basis[:, : smoother.nuisance], rows.weight
    onto = projection(np.column_stack([np.ones(90), rows.given]), weight)
    np.testing.assert_allclose(leading @ (leading * weight[:, None]).T, onto, atol=1e-9)
    np.testing.assert_allclose(basis.T @ (weight[:, None] * basis), np.eye(basis.shape[1]), atol=1e-5)


def test_rows_to_evaluate_at_need_their_factors():
    f, a = gaussian(60, 2, 1)
    rows = Attributes(a, given_of(a))
    same = RidgeMean().prepare(rows, rows).apply(f, 0.1)
    torch.testing.assert_close(same, RidgeMean().prepare(rows).apply(f, 0.1), rtol=1e-12, atol=1e-12)
    with pytest.raises(InvalidInput, match="legitimate factors"):
        RidgeMean().prepare(rows, a)

"""Functions of legitimate factors L are no disparity: dense float64 projections are the truth."""

import numpy as np
import pytest

from fairlevel.conditional_mean import LINEAR_MEANS, RidgeMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.factors import LegitimateFactors
from fairlevel.exceptions import InvalidInput
from fairlevel.metrics.debiased import Debiased
from fairlevel.metrics.units import Units
from fairlevel.penalties.smoothing import PenaltySmoother
from tests.drawn_rows import gaussian_arrays

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
    f, a = gaussian_arrays(90, 3, 2)
    given, weight = given_of(a), WEIGHTS[weights] / WEIGHTS[weights].sum()
    smoother = RidgeMean().prepare(Attributes(a, given, WEIGHTS[weights]))
    assert smoother.nuisance.shape[1] == 3  # the constant and two functions that are not combinations of others
    onto = projection(np.column_stack([np.ones(90), given]), weight)
    standard = (a - weight @ a) / np.sqrt(weight @ (a - weight @ a) ** 2)
    rest = standard - onto @ standard
    for ridge in (0.0, 0.01, 1.0):
        gram = rest.T @ (weight[:, None] * rest) + ridge * np.eye(3)
        beyond = rest @ np.linalg.solve(gram, rest.T * weight)
        np.testing.assert_allclose(smoother.apply(f, ridge), f @ (onto + beyond).T, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(smoother.beyond_nuisance(f), f - f @ onto.T, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", MEANS)
def test_nuisance_functions_are_those_of_the_factors(name, weights):
    _, a = gaussian_arrays(90, 2, 1)
    given, weight = given_of(a), WEIGHTS[weights] / WEIGHTS[weights].sum()
    smoother = LINEAR_MEANS[name]().prepare(Attributes(a, given, WEIGHTS[weights]))
    both = np.hstack([smoother.nuisance, smoother.functions.written_out()])
    np.testing.assert_allclose(both.T @ (weight[:, None] * both), np.eye(both.shape[1]), atol=1e-6)
    np.testing.assert_array_equal(smoother.nuisance[:, 0], 1)
    onto = projection(np.column_stack([np.ones(90), given]), weight)
    np.testing.assert_allclose(smoother.nuisance @ (smoother.nuisance * weight[:, None]).T, onto, atol=1e-9)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", MEANS)
def test_functions_of_the_factors_change_no_disparity(name, weights):
    f, a = gaussian_arrays(90, 2, 2)
    given = given_of(a)
    rows = Attributes(a, given, WEIGHTS[weights])
    smoother = LINEAR_MEANS[name]().prepare(rows)
    debiased, tensors = Debiased(smoother, 0.1, Units.of(rows)), PenaltySmoother.of(smoother, 0.1)
    moved = f + given @ [3.0, 1e-3, -2.0] + 5
    for estimate in (
        debiased.estimates,
        debiased.matrix,
        tensors.leave_out_covariance,
    ):
        np.testing.assert_allclose(estimate(moved), estimate(f), rtol=1e-7, atol=1e-9)


def test_estimate_is_that_of_refitted_means():
    """For a projection: the plug-in beyond L less the noise, each row's from a fit without it, and what L fits of h."""
    f, a = gaussian_arrays(60, 2, 1)
    given = given_of(a)[:, :1]
    rows = Attributes(a, given)
    found = Debiased(RidgeMean().prepare(rows), 0.0, Units.of(rows)).estimates(f)
    values, small, large = f[0], np.column_stack([np.ones(60), given]), np.column_stack([np.ones(60), given, a])
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
    assert found[0] == pytest.approx(expected, rel=1e-8)


def test_attributes_that_the_factors_explain_leave_nothing():
    f, a = gaussian_arrays(80, 2, 1)
    smoother = LINEAR_MEANS["splines"]().prepare(Attributes(a[:, :1], np.column_stack([a, a**2, a[:, :1] ** 3])))
    assert smoother.free == 0
    for given in (a, a @ [[1.0, 2.0], [0.5, -1.0]]):
        rows = Attributes(a, given)
        smoother = RidgeMean().prepare(rows)
        assert smoother.functions.count == 0
        assert Debiased(smoother, 0.0, Units.of(rows)).estimates(f)[0] == pytest.approx(0, abs=1e-15)


def test_rows_to_evaluate_at_need_their_factors():
    f, a = gaussian_arrays(60, 2, 1)
    rows = LegitimateFactors.of(a[:, :1] ** 2).attributes(a, a[:, :1] ** 2)
    smoother = RidgeMean().prepare(rows)
    np.testing.assert_allclose(smoother.predict(f, 0.1, rows), smoother.apply(f, 0.1), rtol=1e-9, atol=1e-9)
    with pytest.raises(InvalidInput, match="Legitimate factors"):
        smoother.predict(f, 0.1, Attributes(a))

import numpy as np
import pytest
import torch
from scipy.stats import norm

from fairlevel.exceptions import InvalidInput
from fairlevel.penalties import GDP
from fairlevel.penalties.gdp import low_dimensional
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS


def evaluated(penalty, f, a):
    prepared = penalty.prepare(a, ALL_TRAINING_ROWS.assign(0, len(a)), {}, seed=0)
    return penalty.step(f, prepared, penalty.init(prepared, len(f), {}))


def test_gaussian_slope():
    """E|βA| = |β|√(2/π) on the middle 99 % of A, blurred: the average of A near g is g/(1 + b²)."""
    random = np.random.default_rng(0)
    a = random.standard_normal((40_000, 1))
    f = torch.from_numpy(-0.6 * a.T)
    b = 0.3 * (40_000 * 3 / 4) ** (-1 / 5)
    edge = norm.ppf(0.995) / np.sqrt(1 + b**2)
    within = 2 * (norm.pdf(0) - norm.pdf(edge)) / (2 * norm.cdf(edge) - 1)
    blurred = 0.6 * within / np.sqrt(1 + b**2)
    assert float(evaluated(GDP(bandwidth=0.3), f, a).value) == pytest.approx(blurred, abs=0.005)


def test_projection_sees_the_two_leading_components_and_no_other():
    random = np.random.default_rng(0)
    a = random.standard_normal((5000, 4)) * [3.0, 2.0, 0.5, 0.1] + [5.0, 0, -2.0, 1.0]
    points = low_dimensional(a, np.full(5000, 1 / 5000))
    np.testing.assert_allclose(points.T @ points / 5000, np.eye(2), atol=1e-9)
    f = torch.from_numpy(a.T - a.mean(0)[:, None])
    values = evaluated(GDP(), f / f.std(dim=1, keepdim=True), a).value
    assert (values[:2] > 0.6).all()
    assert (values[2:] < 0.06).all()


def test_order_and_sign_of_attributes_do_not_matter_with_two():
    random = np.random.default_rng(0)
    a, f = random.standard_normal((400, 2)), torch.from_numpy(random.standard_normal((1, 400)))
    one, other = evaluated(GDP(), f, a), evaluated(GDP(), f, -a[:, ::-1])
    torch.testing.assert_close(one.gradient, other.gradient, rtol=1e-8, atol=1e-12)


def test_never_above_the_root_of_the_smoothed_variance():
    random = np.random.default_rng(0)
    a, f = random.standard_normal((500, 2)), torch.from_numpy(random.standard_normal((6, 500)))
    prepared = GDP().prepare(a, None, {}, seed=0)
    level = f @ prepared.weights[0].T
    root = (((level - f.mean(1, keepdim=True)) ** 2) @ prepared.density[0]).sqrt()
    assert (evaluated(GDP(), f, a).value <= root).all()


def test_constant_attributes_are_no_disparity():
    f = torch.from_numpy(np.random.default_rng(0).standard_normal((2, 50)))
    step = evaluated(GDP(), f, np.zeros((50, 3)))
    assert step.value.abs().max() < 1e-12
    assert step.gradient.abs().max() < 1e-12


def test_refuses_settings_that_are_none():
    with pytest.raises(InvalidInput, match="bandwidth=0"):
        GDP(bandwidth=0)
    with pytest.raises(InvalidInput, match="nodes=1"):
        GDP(nodes=1)

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from scipy.stats import norm

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.kernel_nodes import low_dimensional
from fairlevel.exceptions import InvalidInput
from fairlevel.penalties import GDP
from fairlevel.penalties.gdp import AuthorsNodes, AuthorsScale
from tests.drawn_rows import TENSORS


def evaluated(penalty, f, a):
    prepared = penalty.prepare(Attributes(a), seed=0).to(TENSORS)
    return penalty.step(f, prepared, None)


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


def by_definition(f, a, multiple, weight):
    """The formula with every kernel written out: levels (config, node) and densities (node,)."""
    points = low_dimensional(a, weight)
    dimension = points.shape[1]
    b = multiple * ((dimension + 2) / 4 / (weight**2).sum()) ** (-1 / (dimension + 4))
    axes = [np.linspace(*np.quantile(along, (0.005, 0.995)), {1: 200, 2: 32}[dimension]) for along in points.T]
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, dimension)
    kernel = weight * np.exp(-cdist(nodes, points, "sqeuclidean") / (2 * b**2))
    return torch.from_numpy(kernel / kernel.sum(1, keepdims=True)), torch.from_numpy(kernel.sum(1) / kernel.sum())


@pytest.mark.parametrize("attributes", [1, 2, 4])
def test_values_and_slopes_are_those_of_the_definition(attributes):
    random = np.random.default_rng(0)
    rows = 2500  # more than one block
    a, weight = random.standard_normal((rows, attributes)), random.uniform(0.5, 1.5, rows)
    weight /= weight.sum()
    f = torch.from_numpy(random.standard_normal((3, rows)) + a[:, 0]).requires_grad_()
    for multiple in (0.3, 1.0):
        penalty = GDP(multiple)
        prepared = penalty.prepare(Attributes(a, row_weight=weight), seed=0).to(TENSORS)
        with torch.no_grad():
            found = penalty.step(f, prepared, None)
        level, density = by_definition(f, a, multiple, weight)
        values = (f @ level.T - (f @ torch.from_numpy(weight))[:, None]).abs() @ density
        (slope,) = torch.autograd.grad(values.sum(), f)
        torch.testing.assert_close(found.value, values.detach(), rtol=1e-7, atol=0)
        torch.testing.assert_close(found.gradient, slope, rtol=1e-6, atol=1e-10)


def test_never_above_the_root_of_the_smoothed_variance():
    random = np.random.default_rng(0)
    a, f = random.standard_normal((500, 2)), torch.from_numpy(random.standard_normal((6, 500)))
    level, density = by_definition(f, a, 1.0, np.full(500, 1 / 500))
    root = ((f @ level.T - f.mean(1, keepdim=True)) ** 2 @ density).sqrt()
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
    with pytest.raises(InvalidInput, match="no row is near"):
        evaluated(GDP(bandwidth=1e-9), torch.zeros(1, 30), np.random.default_rng(0).standard_normal((30, 2)))


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("attributes", [1, 2])
def test_authors_nodes_are_those_of_their_code(attributes, scaled):
    """The authors' estimate node by node: nodes in (0, 1), a bandwidth for unit variance, no scale of the data."""
    random = np.random.default_rng(4)
    a, f = random.standard_normal((60, attributes)), random.standard_normal(60)
    points = (a - a.mean(axis=0)) / a.std(axis=0)
    if scaled:
        points = (points - points.min(axis=0)) / np.ptp(points, axis=0)
    b = (60 * (attributes + 2) / 4) ** (-1 / (attributes + 4))
    axis = np.arange(0.001, 0.9985, 0.001) if attributes == 1 else np.arange(0.05, 0.925, 0.05)
    assert len(axis) == (998 if attributes == 1 else 18)
    nodes = np.stack(np.meshgrid(*[axis] * attributes, indexing="ij"), axis=-1).reshape(-1, attributes)
    kernel = np.exp(-((nodes[:, None] - points) ** 2).sum(axis=-1) / (2 * b**2))
    truth = kernel.sum(axis=1) @ np.abs(kernel @ f / kernel.sum(axis=1) - f.mean()) / kernel.sum()
    found = evaluated(GDP(layout=AuthorsScale() if scaled else AuthorsNodes()), torch.from_numpy(f)[None], a)
    assert float(found.value) == pytest.approx(truth, rel=1e-9)

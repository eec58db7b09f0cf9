import numpy as np
import pytest
import torch

from fairlevel.exceptions import InvalidInput
from fairlevel_study.systems.protocol import GroupVariance, groups_of

DOUBLE = torch.empty(0, dtype=torch.float64)


def test_quantiles_of_one_attribute_hold_equally_many_rows():
    a = np.random.default_rng(0).exponential(size=(400, 1))
    groups = groups_of("fairbatch", a, 4, 0)
    assert np.bincount(groups.number(a)).tolist() == [100, 100, 100, 100]
    assert groups.number(np.array([[-1.0], [1e9]])).tolist() == [0, 3]


def test_few_values_are_groups_whatever_the_bins():
    a = np.repeat([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [50, 48, 2], axis=0)
    groups = groups_of("fairbatch", a, None, 0)
    assert groups.count == 2  # two rows are no group: they join the nearest one
    assert np.bincount(groups.number(a)).sum() == 100


def test_clusters_of_several_attributes():
    random = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    truth = np.repeat([0, 1, 2], 30)
    a = centres[truth] + 0.1 * random.standard_normal((90, 2))
    found = groups_of("badr", a, 3, 0).number(a)
    assert all(len(set(found[truth == group])) == 1 for group in range(3))
    assert len(set(found)) == 3


@pytest.mark.parametrize("bins", [1, 100])
def test_impossible_numbers_of_bins(bins):
    with pytest.raises(InvalidInput, match=f"bins={bins} was given for 100 rows"):
        groups_of("badr", np.arange(100.0)[:, None], bins, 0)


def test_one_group_is_none():
    with pytest.raises(InvalidInput, match="forms only one"):
        groups_of("badr", np.zeros((50, 1)), 4, 0)


def test_variance_between_groups_and_its_gradient():
    random = np.random.default_rng(0)
    number, f = random.integers(0, 3, 40), torch.tensor(random.standard_normal((2, 40)), requires_grad=True)
    groups = GroupVariance.of(number, 4, DOUBLE)  # the fourth group is empty
    means = np.stack([f.detach().numpy()[:, number == group].mean(axis=1) for group in range(3)], axis=1)
    expected = means[:, number].var(axis=1)  # every row replaced by the mean of its group
    assert np.allclose(groups.value(f).detach().numpy(), expected, rtol=1e-12)
    (slope,) = torch.autograd.grad(groups.value(f).sum(), f)
    mean = f.detach().numpy().mean(axis=1, keepdims=True)
    assert np.allclose(slope, 2 / 40 * (means[:, number] - mean), rtol=1e-10, atol=1e-14)


def test_sanity_matrix_of_group_averages():
    """Four bins of A ~ N(0, 1): linear and squared dependence is seen, A·Z and independence are not."""
    a, z = np.random.default_rng(0).standard_normal((2, 5000))
    number = groups_of("bifair", a[:, None], 4, 0).number(a[:, None])
    predictions = torch.from_numpy(np.stack([0.6 * a + 0.8 * z, a**2, a * z, z]))
    linear, squared, product, independent = GroupVariance.of(number, 4, DOUBLE).value(predictions)
    quarter = np.array([-1.27111, -0.32466])  # E[A given its quarter], the lower half
    assert linear == pytest.approx(0.36 * (quarter**2).mean(), rel=0.05)  # bins lose a seventh of the truth, 0.36
    assert 0.5 < squared < 1.2  # of 2
    assert product < 0.005
    assert independent < 0.005

import numpy as np
import pytest
import torch

from fairlevel.conditional_mean import GroupMean, RandomFeaturesMean, RidgeMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics.leave_one_out import LeaveOut, leave_out_dpvar, leave_out_matrix
from fairlevel.metrics.units import IndependentUnits, null_variance
from tests.drawn_rows import gaussian


def test_for_a_projection_it_is_the_covariance_with_refitted_means():
    f, a = gaussian(40, 2, 3)
    found = leave_out_dpvar(f, RidgeMean().prepare(Attributes(a)), torch.zeros(3, dtype=torch.float64))
    design = np.column_stack([np.ones(40), a])
    for config in range(3):
        values = f[config].numpy()
        products, missed = [], []
        for left in range(40):
            others = np.arange(40) != left
            coefficients, *_ = np.linalg.lstsq(design[others], values[others], rcond=None)
            products.append((values[left] - values.mean()) * (design[left] @ coefficients - values.mean()))
            missed.append((values[left] - values.mean()) * (values[left] - design[left] @ coefficients))
        # the mean is not left out: its share 1/n of the noise is what the plain product would take off too much
        assert float(found.estimate[config]) == pytest.approx(np.mean(products) + np.mean(missed) / 40, rel=1e-9)


def test_unbiased_when_noise_differs_between_groups():
    random = np.random.default_rng(0)
    group = np.repeat(np.arange(6), 5)
    mean = np.array([0.0, 0.2, -0.1, 0.4, 0.0, -0.3])[group]
    noise_sd = np.array([0.1, 3.0, 0.5, 2.0, 1.0, 0.2])[group]
    f = torch.from_numpy(mean + noise_sd * random.standard_normal((40_000, 30)))
    estimates = leave_out_dpvar(
        f, GroupMean().prepare(Attributes(group[:, None].astype(float))), torch.zeros(40_000, dtype=torch.float64)
    ).estimate
    error = float(estimates.std() / 200)
    assert float(estimates.mean()) == pytest.approx(mean.var(), abs=4 * error)


def test_single_member_groups_use_the_pooled_noise():
    group = np.array([0.0] * 30 + [1.0] * 30 + [2.0])
    random = np.random.default_rng(0)
    f = torch.from_numpy(random.standard_normal((2000, 61)))
    estimates = leave_out_dpvar(
        f, GroupMean().prepare(Attributes(group[:, None])), torch.zeros(2000, dtype=torch.float64)
    ).estimate
    assert float(estimates.mean()) == pytest.approx(0, abs=4 * float(estimates.std()) / 2000**0.5 + 1 / 61**2)


def test_null_variance_is_what_simulation_shows():
    random = np.random.default_rng(0)
    a = random.standard_normal((300, 3))
    smoother, ridge = RandomFeaturesMean().prepare(Attributes(a)), torch.full((4000,), 0.05, dtype=torch.float64)
    f = torch.from_numpy(random.standard_normal((4000, 300)))
    found = leave_out_dpvar(f, smoother, ridge)
    first = LeaveOut(*(each[:20] for each in vars(found).values()))
    predicted = float(null_variance(first, smoother, IndependentUnits()).mean())
    assert predicted == pytest.approx(float(found.estimate.var()), rel=0.15)


def test_matrix_is_the_estimate_of_every_mixture():
    random = np.random.default_rng(0)
    a = random.standard_normal((150, 2))
    predictions = torch.from_numpy(random.standard_normal((4, 150)) + a[:, 0] * np.arange(4)[:, None])
    smoother = RandomFeaturesMean(features=20).prepare(Attributes(a))
    matrix = leave_out_matrix(predictions, smoother, 0.05)
    for proportions in random.dirichlet(np.ones(4), 5):
        mixture = torch.from_numpy(proportions) @ predictions
        alone = leave_out_dpvar(mixture.unsqueeze(0), smoother, torch.tensor([0.05], dtype=torch.float64)).estimate
        assert float(proportions @ matrix.numpy() @ proportions) == pytest.approx(float(alone), rel=1e-9)


def test_matrix_and_estimate_agree_on_rows_of_high_leverage():
    random = np.random.default_rng(0)
    group = np.r_[np.repeat([0.0, 1.0], 30), 2.0, 3.0][:, None]
    predictions = torch.from_numpy(random.standard_normal((3, 62)))
    smoother = GroupMean().prepare(Attributes(group))
    alone = leave_out_dpvar(predictions, smoother, torch.zeros(3, dtype=torch.float64)).estimate
    torch.testing.assert_close(leave_out_matrix(predictions, smoother, 0.0).diagonal(), alone, rtol=1e-9, atol=1e-12)

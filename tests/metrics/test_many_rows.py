"""Very many rows, block by block: the same answer as all at once."""

import numpy as np
import pytest
import torch

from fairlevel import RandomFeaturesMean, SplineMean, dpvar, dpvar_interval
from fairlevel.conditional_mean import GroupMean, RidgeMean, blockwise
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics import linear_estimators
from fairlevel.metrics.leave_one_out import leave_out_dpvar, leave_out_streamed
from fairlevel.metrics.units import Units, null_variance


@pytest.fixture
def drawn():
    random = np.random.default_rng(0)
    a = np.column_stack([random.standard_normal(700), random.integers(0, 4, 700)])
    return a, a[:, 0] ** 2 + 0.3 * a[:, 1] + random.standard_normal(700), random.uniform(0.5, 2, 700)


@pytest.mark.parametrize("mean", [SplineMean(), RandomFeaturesMean(), RidgeMean(), GroupMean()], ids=lambda m: m.name)
def test_blocks_give_the_same_estimate_and_noise(drawn, mean, monkeypatch):
    monkeypatch.setattr(blockwise, "BLOCK", 97)
    a, f, _ = drawn
    prediction = torch.from_numpy((f - f.mean()) / f.std())
    together = mean.prepare(Attributes(a))
    ridge = 1e-3
    expected = leave_out_dpvar(prediction.unsqueeze(0), together, torch.tensor([ridge], dtype=torch.float64))
    evidence = leave_out_streamed(prediction, blockwise.blockwise(mean, Attributes(a), Attributes(a), 0), ridge)
    np.testing.assert_allclose(evidence.found.estimate, expected.estimate, rtol=1e-8)
    np.testing.assert_allclose(evidence.found.fitted, expected.fitted, atol=1e-8)
    np.testing.assert_allclose(evidence.found.residual, expected.residual, atol=1e-8)
    np.testing.assert_allclose(evidence.null_variance, null_variance(expected, together, Units())[0], rtol=1e-6)


@pytest.mark.parametrize("singles", [3, 400])  # a few rows of high leverage, and more than three quarters of all
def test_rows_of_high_leverage_are_treated_alike_in_blocks(singles, monkeypatch):
    """A cell of one row is fitted exactly: the noise of the others stands in for its own."""
    monkeypatch.setattr(blockwise, "BLOCK", 97)
    random = np.random.default_rng(0)
    a = np.r_[np.repeat([0.0, 1.0], 60), np.arange(2.0, 2.0 + singles)][:, None]
    f = random.standard_normal(len(a))
    prediction = torch.from_numpy((f - f.mean()) / f.std())
    mean = FreeCells()
    together = mean.prepare(Attributes(a))
    expected = leave_out_dpvar(prediction.unsqueeze(0), together, torch.zeros(1, dtype=torch.float64))
    evidence = leave_out_streamed(prediction, blockwise.blockwise(mean, Attributes(a), Attributes(a), 0), 0.0)
    np.testing.assert_allclose(evidence.found.estimate, expected.estimate, rtol=1e-9)
    np.testing.assert_allclose(evidence.found.residual, expected.residual, atol=1e-9)
    np.testing.assert_allclose(evidence.null_variance, null_variance(expected, together, Units())[0], rtol=1e-8)


class FreeCells(RidgeMean):
    """A free average per distinct value, however few rows it has."""

    def feature_map(self, sensitive, row_weight, seed):
        known = np.unique(sensitive)
        return lambda rows: ((rows == known).astype(float), np.empty((len(rows), 0)))


def test_intervals_of_many_rows_agree_with_the_direct_ones(monkeypatch):
    random = np.random.default_rng(1)
    a = random.standard_normal((6000, 3))
    f = np.sin(a[:, 0]) + a[:, 1] + random.standard_normal(6000)
    direct = dpvar_interval(f, sensitive_features=a)
    monkeypatch.setattr(linear_estimators, "MANY_ROWS", 5000)
    monkeypatch.setattr(linear_estimators, "SAMPLE_ROWS", 3000)
    streaming = dpvar_interval(f, sensitive_features=a)
    assert "chosen on 3,000 rows" in streaming.regressor
    assert streaming.estimate == pytest.approx(direct.estimate, rel=0.01)
    assert streaming.low == pytest.approx(direct.low, rel=0.02)
    assert streaming.high == pytest.approx(direct.high, rel=0.02)
    assert streaming.p_value < 0.01
    assert dpvar(None, f, sensitive_features=a) == pytest.approx(streaming.estimate, rel=1e-12)
    none = dpvar_interval(random.permutation(f), sensitive_features=a)
    assert none.low == 0
    assert none.p_value > 0.05


@pytest.mark.parametrize("others", [0, 1], ids=["alone", "beside another attribute"])
def test_an_attribute_that_is_constant_in_the_sample_is_measured(others, monkeypatch):
    """Four rows of 4000 carry all of the disparity; the sample of 500 has none of them."""
    monkeypatch.setattr(linear_estimators, "MANY_ROWS", 1000)
    monkeypatch.setattr(linear_estimators, "SAMPLE_ROWS", 500)
    random = np.random.default_rng(0)
    drawn = np.random.default_rng(0).choice(4000, 500, replace=False)
    rare = np.setdiff1d(np.arange(4000), drawn)[[5, 700, 1400, 3000]]
    a = np.column_stack([np.zeros(4000), *random.standard_normal((others, 4000))])
    a[rare, 0] = 1.0
    f = 100.0 * a[:, 0] + random.standard_normal(4000)
    found = dpvar_interval(f, sensitive_features=a)
    truth = 100.0**2 * 0.001 * 0.999
    assert found.estimate == pytest.approx(truth, rel=0.05)
    assert found.share > 0.85
    assert found.share_high > 0.9


def test_a_constant_attribute_has_no_disparity_on_many_rows_as_on_few(monkeypatch):
    f, nothing = np.random.default_rng(0).standard_normal(2000), np.zeros(2000)
    together = dpvar_interval(f, sensitive_features=nothing)
    monkeypatch.setattr(linear_estimators, "MANY_ROWS", 1000)
    monkeypatch.setattr(linear_estimators, "SAMPLE_ROWS", 500)
    blocks = dpvar_interval(f, sensitive_features=nothing)
    assert (blocks.estimate, blocks.low, blocks.p_value) == (0.0, 0.0, 1.0)
    assert blocks.high == pytest.approx(together.high)

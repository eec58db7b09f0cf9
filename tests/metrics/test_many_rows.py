"""Very many rows, block by block: the same answer as all at once."""

import numpy as np
import pytest
import torch

from fairlevel import RandomFeaturesMean, SplineMean, dpvar_interval
from fairlevel.conditional_mean import GroupMean, RidgeMean, streamed
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.leave_out import leave_out_dpvar, null_variance
from fairlevel.conditional_mean.streamed import leave_out_streamed, stream
from fairlevel.metrics import interval


@pytest.fixture
def drawn():
    random = np.random.default_rng(0)
    a = np.column_stack([random.standard_normal(700), random.integers(0, 4, 700)])
    return a, a[:, 0] ** 2 + 0.3 * a[:, 1] + random.standard_normal(700), random.uniform(0.5, 2, 700)


@pytest.mark.parametrize("mean", [SplineMean(), RandomFeaturesMean(), RidgeMean(), GroupMean()], ids=lambda m: m.name)
def test_blocks_give_the_same_estimate_and_noise(drawn, mean, monkeypatch):
    monkeypatch.setattr(streamed, "BLOCK", 97)
    a, f, _ = drawn
    prediction = torch.from_numpy((f - f.mean()) / f.std())
    together = mean.prepare(Attributes(a))
    ridge = 1e-3
    expected = leave_out_dpvar(prediction.unsqueeze(0), together, torch.tensor([ridge], dtype=torch.float64))
    evidence = leave_out_streamed(prediction, stream(mean, a, a, np.ones(len(a)), 0), ridge)
    np.testing.assert_allclose(evidence.found.estimate, expected.estimate, rtol=1e-8)
    np.testing.assert_allclose(evidence.found.level, expected.level, atol=1e-8)
    np.testing.assert_allclose(evidence.found.residual, expected.residual, atol=1e-8)
    weighted = evidence.found.kept[0].unsqueeze(1) * evidence.residual_scatter
    found = 2 * ((weighted * weighted.T).sum() - evidence.own)
    np.testing.assert_allclose(found, null_variance(expected.residual[0], together, expected.kept[0]), rtol=1e-6)


def test_intervals_of_many_rows_agree_with_the_direct_ones(monkeypatch):
    random = np.random.default_rng(1)
    a = random.standard_normal((6000, 3))
    f = np.sin(a[:, 0]) + a[:, 1] + random.standard_normal(6000)
    direct = dpvar_interval(f, sensitive_features=a)
    monkeypatch.setattr(interval, "MANY_ROWS", 5000)
    monkeypatch.setattr(interval, "SAMPLE", 3000)
    streaming = dpvar_interval(f, sensitive_features=a)
    assert "chosen on 3,000 rows" in streaming.regressor
    assert streaming.estimate == pytest.approx(direct.estimate, rel=0.01)
    assert streaming.low == pytest.approx(direct.low, rel=0.02)
    assert streaming.high == pytest.approx(direct.high, rel=0.02)
    assert streaming.p_value < 0.01
    level = dpvar_interval(random.permutation(f), sensitive_features=a)
    assert level.low == 0
    assert level.p_value > 0.05

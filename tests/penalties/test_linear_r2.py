import numpy as np
import pytest
import torch

from fairlevel.conditional_mean import RidgeMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel.penalties import ClosedFBO, LinearR2
from tests.drawn_rows import TENSORS, gaussian


def evaluated(penalty, f, a):
    prepared = penalty.prepare(Attributes(a), seed=0).to(TENSORS)
    return penalty.step(f, prepared, None)


def test_tends_to_the_population_share():
    random = np.random.default_rng(0)
    covariance = np.array([[1.0, 0.5], [0.5, 2.0]])
    a = random.multivariate_normal([3.0, -1.0], covariance, 100_000)
    slope = np.array([0.5, -0.4])
    f = torch.from_numpy(a @ slope + 0.7 * random.standard_normal(len(a)))[None]
    explained = slope @ covariance @ slope
    share = explained / (explained + 0.49)
    assert float(evaluated(LinearR2(ridge=0), f, a).value) == pytest.approx(share, abs=3 * 2 * (1 - share) / 300)


@pytest.mark.parametrize("ridge", [1e-6, 0.02, 10.0])
def test_explained_variance_is_closed_fbo_with_a_linear_mean(ridge):
    """P = fᵀ S f / n, written densely, with its gradient 2 S f / n; and V times the share."""
    f, a = gaussian(200, 3, 4)
    closed, share = (evaluated(penalty, f, a) for penalty in (ClosedFBO(RidgeMean(ridge)), LinearR2(ridge)))
    centred, rows = torch.from_numpy((a - a.mean(axis=0)) / a.std(axis=0)), len(a)
    second = centred.T @ centred + rows * ridge * torch.eye(a.shape[1])
    smoothed = (f - f.mean(dim=1, keepdim=True)) @ centred @ torch.linalg.solve(second, centred.T)
    torch.testing.assert_close(closed.gradient, 2 * smoothed / rows, rtol=1e-9, atol=1e-13)
    torch.testing.assert_close(closed.value, (f * smoothed).mean(dim=1), rtol=1e-9, atol=1e-13)
    torch.testing.assert_close(closed.value, f.var(dim=1, correction=0) * share.value, rtol=1e-9, atol=1e-13)


def test_scale_of_the_prediction_does_not_matter():
    f, a = gaussian(200, 3, 1)
    share, scaled = (float(evaluated(LinearR2(), factor * f, a).value) for factor in (1, 10))
    assert scaled == pytest.approx(share, rel=1e-9)
    explained, scaled = (float(evaluated(ClosedFBO(RidgeMean()), factor * f, a).value) for factor in (1, 10))
    assert scaled == pytest.approx(100 * explained, rel=1e-9)


def test_gradient_stays_bounded_as_predictions_collapse():
    f, a = gaussian(200, 2, 1)
    norms = [float(evaluated(LinearR2(), scale * f, a).gradient.norm()) for scale in (1e-3, 1e-6, 0.0)]
    assert norms[0] < 1
    assert norms[1] < norms[0]
    assert norms[2] == 0


@pytest.mark.parametrize("ridge", [-1.0, float("nan"), float("inf"), "much"])
def test_refuses_a_ridge_that_is_none(ridge):
    with pytest.raises(InvalidInput, match="ridge="):
        LinearR2(ridge=ridge)

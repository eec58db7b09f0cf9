"""Where no draw can reach the observed form, the test says so without drawing: same p-value, less work."""

import numpy as np
import pytest
import torch

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics import no_disparity_test
from fairlevel.metrics.choice import candidates_for
from fairlevel.metrics.no_disparity_test import NoDisparityTest
from fairlevel.metrics.units import IndependentUnits


def prepared(rows, strength, seed=0):
    random = np.random.default_rng(seed)
    a = random.standard_normal((rows, 3))
    f = strength * (a[:, 0] + np.sin(2 * a[:, 1])) + random.standard_normal(rows) * (1 + np.abs(a[:, 2]))
    prediction = torch.from_numpy((f - f.mean()) / f.std())
    return NoDisparityTest(candidates_for(prediction[None], Attributes(a), 0), 0), prediction


@pytest.mark.parametrize("strength", [0.0, 0.05, 0.3, 2.0])
def test_the_shortcut_changes_no_p_value(strength, monkeypatch):
    test, prediction = prepared(2000, strength)
    found = test.p_value(prediction)
    with monkeypatch.context() as patch:
        patch.setattr(no_disparity_test, "beyond_every_draw", lambda *_: False)
        assert test.p_value(prediction) == found


def test_the_shortcut_is_taken_only_where_the_bound_allows(monkeypatch):
    def refuse(*_):
        raise AssertionError("the noise matrix was computed")

    strong, prediction = prepared(8000, 3.0)
    with monkeypatch.context() as patch:
        patch.setattr(IndependentUnits, "covariance", refuse)
        assert strong.p_value(prediction) == 1 / 4001
        weak, faint = prepared(2000, 0.05)
        with pytest.raises(AssertionError, match="noise matrix"):
            weak.p_value(faint)


def test_no_draw_exceeds_the_bound():
    """The largest form of the draws stays below ‖z‖² / √2 for any noise matrix and weights."""
    generator = torch.Generator().manual_seed(0)
    draws = no_disparity_test._standard_normal(20, 0)
    for _ in range(20):
        half = torch.randn(20, 20, generator=generator, dtype=torch.float64)
        covariance, weights = half @ half.T, torch.rand(20, generator=generator, dtype=torch.float64)
        values, vectors = torch.linalg.eigh(covariance)
        forms = (draws @ (vectors * values.clamp_min(0).sqrt()).T).square() @ weights - weights @ covariance.diagonal()
        spread = (2 * (weights @ covariance.square() @ weights)).sqrt()
        assert (forms / spread).max() <= no_disparity_test._largest_square(20, 0) / 2**0.5


@pytest.mark.parametrize("count", [1, 30, 3000])
def test_draws_stay_far_below_what_none_reaches(count):
    """Of one function, the form with the heaviest tail, and of many."""
    draws = no_disparity_test._drawn(count, 0).square().sum(dim=1)
    largest = float((draws - count).max() / (2 * count) ** 0.5)
    x = 39.0  # exp(−39) is 1e-17
    assert largest < no_disparity_test.REACH / 4
    assert abs((2 * x) ** 0.5 + 2**0.5 * x - no_disparity_test.REACH) < 0.1


def test_beyond_that_nothing_is_drawn(monkeypatch):
    def refuse(*_):
        raise AssertionError("normal numbers were drawn")

    strong, prediction = prepared(8000, 0.6)
    monkeypatch.setattr(no_disparity_test, "beyond_every_draw", lambda *_: False)
    with monkeypatch.context() as patch:
        patch.setattr(no_disparity_test, "_standard_normal", refuse)
        assert strong.p_value(prediction) == 1 / 4001
    monkeypatch.setattr(no_disparity_test, "REACH", float("inf"))
    assert strong.p_value(prediction) == 1 / 4001

"""What is known of a penalty along a direction; A is factored once."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fairlevel.conditional_mean import RandomFeaturesMean, SplineMean
from fairlevel.conditional_mean import protocol as means
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.penalties import ClosedFBO, RootFBO
from tests.drawn_rows import TENSORS

ROWS, CONFIGS = 120, 3


def attributes():
    random = np.random.default_rng(0)
    return Attributes(random.standard_normal((ROWS, 2)), row_weight=random.uniform(0.5, 2, ROWS))


@pytest.mark.parametrize(
    "penalty", [ClosedFBO(SplineMean(0.01)), RootFBO(SplineMean(0.01))], ids=lambda each: each.name
)
def test_a_parabola_touches_the_penalty_and_is_nowhere_below_it(penalty):
    """That of P is P itself; that of its root lies above."""
    prepared = penalty.prepare(attributes(), seed=0).to(TENSORS)
    f, direction = torch.randn(2, CONFIGS, ROWS, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    here = penalty.step(f, prepared, None)
    slope, curvature = (here.gradient * direction).sum(-1), penalty.along(direction, here, prepared)
    for move in (-3.0, -0.5, 1e-3, 0.5, 3.0):
        there = penalty.step(f + move * direction, prepared, None).value
        parabola = here.value + move * slope + move**2 * curvature / 2
        assert (there <= parabola + 1e-12).all()
        if penalty.name == "fbo_closed":
            torch.testing.assert_close(there, parabola, rtol=1e-10, atol=1e-13)


def test_a_is_factored_once_for_the_choice_of_the_ridge_and_for_training(monkeypatch):
    calls, factor = [], means.factor
    monkeypatch.setattr(means, "factor", lambda *given: (calls.append(1), factor(*given))[1])
    rows, mean = attributes(), RandomFeaturesMean(features=20)
    first = mean.prepare(rows, seed=0)
    assert replace(mean, ridge=0.1).prepare(rows, seed=0) is first
    assert mean.prepare(rows, seed=1) is not first
    assert mean.prepare(attributes(), seed=0) is not first
    assert len(calls) == 3

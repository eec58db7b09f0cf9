"""A step after a known move along a direction is the step from the predictions, at less cost."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fairlevel.conditional_mean import RandomFeaturesMean, SplineMean
from fairlevel.conditional_mean import protocol as means
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.penalties import ClosedFBO, RootFBO
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS
from tests.drawn_rows import TENSORS

ROWS, CONFIGS = 120, 3


def attributes():
    random = np.random.default_rng(0)
    return Attributes(random.standard_normal((ROWS, 2)), row_weight=random.uniform(0.5, 2, ROWS))


@pytest.mark.parametrize(
    "penalty", [ClosedFBO(SplineMean(0.01)), RootFBO(SplineMean(0.01))], ids=lambda each: each.name
)
@pytest.mark.parametrize("configs", [1, CONFIGS])
def test_after_a_move_value_and_gradient_are_those_of_the_predictions(penalty, configs):
    prepared = penalty.prepare(attributes(), ALL_TRAINING_ROWS.assign(0, ROWS), {}, 0).to(TENSORS)
    f, first, second = torch.randn(3, configs, ROWS, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    moves = torch.linspace(0.1, 0.9, configs, dtype=torch.float64)
    found, moved = penalty.step(f, prepared, penalty.init(prepared, configs, {})), f
    for direction in (first, second):
        along = penalty.along(direction, found.value, prepared, found.state)
        moved = moved + moves.unsqueeze(1) * direction
        found = penalty.step_after(moved, moves, along, prepared, found.state)
    afresh = penalty.step(moved, prepared, penalty.init(prepared, configs, {}))
    torch.testing.assert_close(found.value, afresh.value, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(found.gradient, afresh.gradient, rtol=1e-11, atol=1e-14)


def test_a_is_factored_once_for_the_choice_of_the_ridge_and_for_training(monkeypatch):
    calls, factor = [], means.factor
    monkeypatch.setattr(means, "factor", lambda *given: (calls.append(1), factor(*given))[1])
    rows, mean = attributes(), RandomFeaturesMean(features=20)
    first = mean.prepare(rows, seed=0)
    assert replace(mean, ridge=0.1).prepare(rows, seed=0) is first
    assert mean.prepare(rows, seed=1) is not first
    assert mean.prepare(attributes(), seed=0) is not first
    assert len(calls) == 3

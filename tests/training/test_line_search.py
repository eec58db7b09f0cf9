"""Second derivatives of the loss, which boosters ask for at every step."""

import numpy as np

from fairlevel.losses import Logistic, SquaredLoss
from fairlevel.penalties import NoPenalty
from fairlevel.training.objective import Objective

WEIGHT = np.array([0.2, 0.3, 0.5])
SCORES = np.array([[0.0, 1.0, -1.0, 2.0]]), np.array([[3.0, 0.0, 1.0, 0.0]])


def objective(loss):
    """Four rows, of which the first carries no accuracy."""
    target = np.array([1.0, 0.0, 1.0, 0.0])
    return Objective(loss, NoPenalty(), None, np.zeros((4, 1)), target, np.r_[0, WEIGHT], 3.0)


def test_that_of_a_squared_loss_is_the_same_array_for_the_same_rows():
    here = objective(SquaredLoss())
    first, again = (here.curvature(score) for score in SCORES)
    assert again is first
    np.testing.assert_allclose(first, [[0.0, 0.4, 0.6, 1.0]])
    assert objective(SquaredLoss()).curvature(SCORES[0]) is not first


def test_that_of_a_logistic_loss_follows_the_scores():
    here = objective(Logistic())
    for score in SCORES:
        p = 1 / (1 + np.exp(-score[:, 1:]))
        np.testing.assert_allclose(here.curvature(score), np.c_[[0.0], p * (1 - p) * WEIGHT])

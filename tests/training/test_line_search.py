"""Second derivatives of the loss, which boosters ask for at every step."""

import numpy as np

from fairlevel.losses import Logistic, SquaredLoss
from fairlevel.training.objective import LossCurvature
from fairlevel.training.rows import StepRows

WEIGHT = np.array([0.2, 0.3, 0.5])
SCORES = np.array([[0.0, 1.0, -1.0, 2.0]]), np.array([[3.0, 0.0, 1.0, 0.0]])


def rows():
    """Four rows, of which the first carries no accuracy."""
    return StepRows(np.zeros((4, 1)), np.array([1.0, 0.0, 1.0, 0.0]), slice(1, 4), WEIGHT, 3.0)


def test_that_of_a_squared_loss_is_the_same_array_for_the_same_rows():
    curvature, here, there = LossCurvature(SquaredLoss()), rows(), rows()
    first, again = (curvature.at(score, here) for score in SCORES)
    assert again.of_all_rows is first.of_all_rows
    np.testing.assert_allclose(first.of_all_rows, [[0.0, 0.4, 0.6, 1.0]])
    assert curvature.at(SCORES[0], there).of_all_rows is not first.of_all_rows


def test_that_of_a_logistic_loss_follows_the_scores():
    curvature, here = LossCurvature(Logistic()), rows()
    for score in SCORES:
        p = 1 / (1 + np.exp(-score[:, 1:]))
        np.testing.assert_allclose(curvature.at(score, here).of_accuracy_rows, p * (1 - p) * WEIGHT)

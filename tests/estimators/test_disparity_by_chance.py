"""What DPVar shows by chance counts as disparity where proportions are set."""

import numpy as np
import pytest

from fairlevel.conditional_mean import GroupMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.fronts.combiners import Stacked
from fairlevel.fronts.evaluation import Evaluation
from fairlevel.metrics.mixtures import SharedMean

ROWS, GROUPS = 300, 5
GROUP = np.arange(ROWS) % GROUPS
ATTRIBUTES = Attributes(GROUP[:, None].astype(float))
MEAN = SharedMean(GroupMean(), 0.0)


def test_the_standard_error_by_chance_is_that_of_predictions_without_disparity():
    """Of five groups, four differences from the mean are free: √(2 · 4) / 300. The estimates of 4000 predictions of
    pure noise vary as much, within three standard errors of their standard deviation. Estimates are χ² with four
    degrees of freedom, of kurtosis 6, so that this has the relative standard error √((6 − 1) / 4 / 4000).
    """
    noise = np.random.default_rng(0).standard_normal((4000, ROWS))
    some_at_a_time = noise.reshape(40, 100, ROWS)
    estimates = np.concatenate([MEAN.disparity(some, ATTRIBUTES, 0).diagonal() for some in some_at_a_time])
    chance = MEAN.chance(ATTRIBUTES, 0)
    assert chance == pytest.approx(np.sqrt(8) / ROWS, rel=1e-9)
    assert estimates.std() == pytest.approx(chance, rel=3 * np.sqrt(5 / 4 / 4000))


def test_weights_count_as_fewer_rows():
    weight = np.where(np.arange(ROWS) % 2, 3.0, 1.0)
    uneven = Attributes(ATTRIBUTES.values, row_weight=weight)
    effective = weight.sum() ** 2 / (weight**2).sum()
    assert MEAN.chance(uneven, 0) == pytest.approx(np.sqrt(8) / effective, rel=1e-9)


def test_mixtures_are_charged_by_their_variance():
    """DPVar of every mixture is larger by two standard errors of one of its variance; error and proportions are as they
    were.
    """
    random = np.random.default_rng(1)
    candidates = random.standard_normal((3, ROWS)) + np.array([GROUP, GROUP == 1, GROUP == 3])  # no chance below zero
    target, fold = random.standard_normal(ROWS), np.arange(ROWS) % 5
    plain, careful = (
        Evaluation.of(candidates, target, ATTRIBUTES, fold, Stacked(), 0, chance).choice for chance in (0.0, 2.0)
    )
    proportions = np.array([0.2, 0.3, 0.5])
    before, after = plain.figures(proportions), careful.figures(proportions)
    judged = Evaluation.of(candidates, target, ATTRIBUTES, fold, Stacked(), 0)
    added = 2 * judged.mean.chance(judged.attributes, 0) * (proportions @ candidates).var() / target.var()
    assert after.dpvar == pytest.approx(before.dpvar + added, rel=1e-9)
    assert after.mse == pytest.approx(before.mse, rel=1e-12)

"""Which conditional mean is chosen: averages where rows of one profile share more than smooth functions see."""

import numpy as np
import pytest

from fairlevel import RandomFeaturesMean, dpvar_interval
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.smoother import RIDGES
from fairlevel.metrics.choice import candidates_for, choose, shared_choice, tuned_mean
from fairlevel.metrics.debiased import leave_out_errors
from fairlevel.metrics.units import Units


def heaped(rows, seed):
    """Ages, of which every tenth one has other predictions; the share that they explain."""
    random = np.random.default_rng(seed)
    age, every = random.integers(18, 80, rows), np.arange(18, 80) % 10 == 0
    return age, (age % 10 == 0) + random.standard_normal(rows), every.var() / (every.var() + 1)


@pytest.mark.parametrize(("rows", "least"), [(800, 9), (1600, 11)])
def test_differences_between_single_values_are_seen_where_smooth_functions_miss_them(rows, least):
    """62 averages cost about as much as they explain on 800 rows."""
    held = []
    for seed in range(12):
        age, prediction, truth = heaped(rows, seed)
        found = dpvar_interval(prediction, sensitive_features=age)
        held.append(0.02 < found.share_low < truth < found.share_high and found.regressor.startswith("groups"))
    assert sum(held) >= least


@pytest.mark.parametrize("noise", [0.0, 2.0])
def test_averages_are_not_taken_where_there_is_nothing_to_see(noise):
    """Also where rare values have more noise than others: three standard errors are not reached more than once."""
    taken = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        age = np.minimum(random.geometric(0.04, 500), 90)
        prediction = 0.01 * age + (1 + noise * age / 25) * random.standard_normal(500)
        taken += dpvar_interval(prediction, sensitive_features=age).regressor.startswith("groups")
    assert taken <= 1


ROWS = 150
A = np.random.default_rng(3).standard_normal((ROWS, 2))
F = np.sin(2 * A[:, 0]) + np.random.default_rng(4).standard_normal((4, ROWS)) * [[0.1], [0.5], [2.0], [10.0]]


@pytest.mark.parametrize("groups", [None, np.arange(ROWS) // 3], ids=["rows", "groups"])
def test_each_prediction_gets_the_mean_and_ridge_of_least_error(groups):
    """The ridge by errors that count degrees of freedom twice, the mean by errors without it."""
    candidates = candidates_for(Attributes(A, groups=groups), 0)
    choices = choose(F, candidates)
    assert sorted(np.concatenate([each.configs for each in choices])) == [0, 1, 2, 3]
    for choice in choices:
        for config in choice.configs:
            errors = []
            for candidate in candidates:
                ridge = candidate.errors(F[[config]])[0].argmin()
                alone = leave_out_errors(F[[config]], candidate.smoother, candidate.units, candidate.ridges, cost=1.0)
                errors.append(alone[0, ridge])
                if candidate is choice.candidate:
                    assert choice.debiased.ridge == candidate.ridges[ridge]
            assert candidates[int(np.argmin(errors))] is choice.candidate
            assert choose(F[config][None], candidates)[0].debiased.ridge == choice.debiased.ridge


def test_several_predictions_share_the_choice_of_least_error_together():
    candidates = candidates_for(Attributes(A), 0)
    choice = shared_choice(F, candidates)
    totals = {}
    for number, candidate in enumerate(candidates):
        for ridge, errors in zip(candidate.ridges, candidate.errors(F).T, strict=True):
            totals[number, ridge] = (errors / np.square(F).mean(axis=1)).sum()
    number, ridge = min(totals, key=totals.get)
    assert (choice.candidate, choice.debiased.ridge) == (candidates[number], ridge)


@pytest.mark.parametrize("groups", [None, np.arange(ROWS) // 3], ids=["rows", "groups"])
def test_a_tuned_ridge_is_the_best_on_grid(groups):
    rows, target = Attributes(A, groups=groups), F[1] + 5
    tuned = tuned_mean(RandomFeaturesMean(), rows, target, 0)
    smoother, centred = RandomFeaturesMean().prepare(rows), (target - target.mean())[None]
    if groups is None:
        assert tuned.ridge == smoother.choose_ridge(centred)[0]
    else:
        errors = leave_out_errors(centred, smoother, Units.of(rows), RIDGES[::-1], 2.0)[0]
        assert tuned.ridge == RIDGES[::-1][errors.argmin()]
    given = RandomFeaturesMean(ridge=0.3)
    assert tuned_mean(given, rows, target, 0) is given

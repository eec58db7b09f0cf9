"""The number of steps, and the settings, of a model that is trained once more on all rows."""

import numpy as np
import pandas as pd
import pytest

from fairlevel import FairRegressor
from fairlevel.candidates.candidate_set import CandidateKey, CandidateSet, TrainingHistory, candidate_table
from fairlevel.candidates.stopping import best_setup, best_steps, every_row_once
from fairlevel.data.splitting import AnyRows, WholeGroups
from fairlevel.predictors import Boosting

KEY = CandidateKey("fbo_closed", 3.0, 0)


def trained(*scores):
    """One candidate, judged before its first step and after every ten steps."""
    held_out = pd.Series(scores, index=10 * np.arange(len(scores)), dtype=np.float64)
    return CandidateSet(
        candidate_table([KEY], "boosting", 1), (), np.empty((0, 0)), (TrainingHistory(pd.DataFrame(), held_out),)
    )


@pytest.mark.parametrize(
    ("folds", "steps"),
    [
        ([(1.0, 0.8, 0.7, 0.9)], 20),
        ([(1.0, 0.8, 0.7, 0.9), (1.0, 0.6, 0.69, 0.9)], 10),  # .005 worse, half a standard error is .0475
        ([(1.0, 0.8, 0.7, 0.9), (1.0, 0.79, 0.69, 0.9)], 20),  # the same difference in both: no error
        ([(1.0, 0.9, 0.1), (1.0, 0.8)], 10),  # only one of them has taken 20 steps
        ([(1.0, 0.1), (1.0, 2.5)], 0),  # one fold is lucky; on average the constant is best
        ([(50.0, 40.0, 30.0), (1.0, 0.9, 1.9)], 10),  # a target far out counts no more than others
        ([(np.nan, np.nan), (1.0, 0.1)], 10),
    ],
)
def test_steps_are_best_for_the_mean_of_all_trainings(folds, steps):
    assert best_steps([trained(*scores) for scores in folds]) == {KEY: steps}


def test_every_row_is_held_out_once_and_groups_stay_together():
    groups = np.repeat(np.arange(25), 4)
    for splits in (AnyRows(103), WholeGroups(groups)):
        parts = every_row_once(splits, 0.2, seed=0)
        held = np.concatenate([held for _, held in parts])
        assert len(parts) == 5
        assert np.array_equal(np.sort(held), np.arange(len(splits)))
        for kept, held in parts:
            assert np.array_equal(np.sort(np.r_[kept, held]), np.arange(len(splits)))
    for kept, held in parts:
        assert not np.intersect1d(groups[kept], groups[held]).size


@pytest.mark.parametrize("seed", range(3))
def test_a_small_table_without_a_signal_gets_the_constant(seed):
    """Nothing can be learnt, and one target lies far out: no model is better than the mean of y."""
    random = np.random.default_rng(seed)
    x, y, a = random.standard_normal((300, 8)), random.standard_normal(300), random.standard_normal((300, 2))
    y[0] = 13.0
    fresh = random.standard_normal((2000, 8))
    for weight in (0.0, 3.0):
        model = FairRegressor(weight, random_state=seed).fit(x, y, sensitive_features=a)
        assert np.mean((model.predict(fresh) - y.mean()) ** 2) < 0.02  # of a variance of 1 beside that target


def test_a_small_table_with_a_signal_is_learnt():
    random = np.random.default_rng(0)
    x, a = random.standard_normal((300, 4)), random.standard_normal(300)
    model = FairRegressor(0.0, random_state=0).fit(x, 2 * x[:, 0] + random.standard_normal(300), sensitive_features=a)
    fresh = random.standard_normal((2000, 4))
    assert np.mean((model.predict(fresh) - 2 * fresh[:, 0]) ** 2) < 0.4  # of 4


def test_scores_beyond_measure_decide_nothing():
    """A constant that is right on the held-out rows makes every share of its score enormous."""
    with np.errstate(over="raise", invalid="raise"):
        found = best_steps([trained(1e-290, 1e9, 1e9), trained(1.0, 0.5, 0.9)])
    assert found == {KEY: 0}


@pytest.mark.parametrize(
    ("scores", "number"),
    [
        ([(1.0, 0.8, 0.9), (1.0, 0.79, 0.9), (1.0, 0.9)], 0),  # a gain of 1.25 %
        ([(1.0, 0.8, 0.9), (1.0, 0.78, 0.9), (1.0, 0.9)], 1),  # of 2.5 %
        ([(1.0, 0.8, 0.9), (1.0, 0.75, 0.9), (1.0, 0.9, 0.74)], 2),
        ([(1.0, 0.8, 0.9)], 0),
        ([(np.inf, np.inf), (1.0, 0.9)], 1),
        ([(np.nan, np.nan), (np.nan, np.nan)], 0),  # all have diverged
    ],
)
def test_other_settings_are_chosen_where_held_out_rows_gain_enough(scores, number):
    assert best_setup([[trained(*own)] for own in scores]) == number


def curve(random, x):
    return x[:, 0] + 0.3 * random.standard_normal(len(x))


def far_out(random, x):
    """One target at fifty standard deviations: leaves of many rows dilute it."""
    y = curve(random, x)
    y[1] = 50.0
    return y


def steps(random, x):
    """A function of one feature with 150 values: leaves of few rows follow it."""
    return random.standard_normal(150)[(150 * x[:, 0]).astype(int)]


QUICK = {"rounds": 40, "learning_rate": 0.2}


@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize(
    ("target", "rows", "size"),
    [(curve, 1600, (15, 20)), (far_out, 1600, (15, 60)), (steps, 1600, (31, 10)), (steps, 1500, (15, 20))],
)
def test_held_out_rows_choose_the_size_of_trees(target, rows, size, weight):
    """The model is the one of the chosen size, bit for bit; up to 1500 rows it is always the usual one."""
    random = np.random.default_rng(0)
    x, a = random.uniform(size=(rows, 3)), random.standard_normal(rows)
    y, (leaves, rows_in_leaf) = target(random, x), size
    predictors = Boosting(**QUICK), Boosting(leaves=leaves, rows_in_leaf=rows_in_leaf, **QUICK)
    chosen, given = (
        FairRegressor(weight, penalty="r2", predictor=each, random_state=0).fit(x, y, sensitive_features=a)
        for each in predictors
    )
    np.testing.assert_array_equal(chosen.predict(x), given.predict(x))
    assert chosen.n_iter_ == given.n_iter_


def test_chance_in_few_held_out_rows_hides_no_disparity_of_a_network():
    """DPVar is small beside what few rows know of it, and weighs most: training ended after the first steps."""
    pytest.importorskip("torch")
    found = []
    for seed in (0, 2):
        random = np.random.default_rng(seed)
        x, noise = random.standard_normal((9600, 2)), random.standard_normal((2, 9600))
        a, y = 0.15 * x[:, 0] + noise[0], x[:, 0] + 2 * noise[1]
        model = FairRegressor(100, predictor="mlp", random_state=0).fit(x[:1600], y[:1600], sensitive_features=a[:1600])
        new = model.predict(x[1600:])
        disparity = np.polyfit(a[1600:], new, 1)[0] ** 2 * a.var()  # E[X | A] is linear
        found.append((((new - y[1600:]) ** 2).mean() + 100 * disparity) / y.var())
    assert np.mean(found) < 1  # the constant has 1

"""Groups stay together, time is not turned round, and rows without sensitive attributes train accuracy only."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest

from fairlevel import FairClassifier, FairnessPath, FairRegressor, dpvar, relevel
from fairlevel.candidates.reweighted_trees import split_for_weights
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.data.splitting import InTime, WholeGroups, read_splitting
from fairlevel.exceptions import InvalidInput, UnknownAttributes
from fairlevel.networks.optimizers import Adam
from fairlevel.penalties import NAMES
from fairlevel.training.rows import TrainingRows
from tests.contracts.penalty_cases import quick_penalty

RANDOM = np.random.default_rng(0)
ROWS = 400
A = RANDOM.standard_normal((ROWS, 1))
X = np.column_stack([A[:, 0] + 0.5 * RANDOM.standard_normal(ROWS), RANDOM.standard_normal((ROWS, 2))])
Y = X[:, 0] + X[:, 1] + 0.3 * RANDOM.standard_normal(ROWS)
LINEAR = {"predictor": "linear", "optimizer": Adam(0.05, steps=100), "random_state": 0}
GROUPS = np.repeat(np.arange(ROWS // 4), 4)


def test_groups_are_never_split():
    splits = WholeGroups(RANDOM.integers(0, 40, 200))
    fold = splits.folds(3, 0)
    assert set(fold) == {0, 1, 2}
    for label in np.unique(splits.groups):
        assert len(set(fold[splits.groups == label])) == 1
    kept, held = splits.split_off(0.25, 0)
    assert sorted([*kept, *held]) == list(range(200))
    assert not set(splits.groups[kept]) & set(splits.groups[held])
    assert 0.1 < len(held) / 200 < 0.4
    others = splits.others(np.array([5]))
    assert splits.groups[5] not in splits.groups[others]
    assert len(others) == (splits.groups != splits.groups[5]).sum()


def test_held_out_rows_are_the_latest():
    time = RANDOM.permutation(100)
    splits = InTime(time)
    kept, held = splits.split_off(0.2, 0)
    assert time[kept].max() < time[held].min()
    assert len(held) == 20
    fold = splits.folds(4, 0)
    assert np.bincount(fold).tolist() == [25] * 4
    assert (np.diff(fold[np.argsort(time)]) >= 0).all()
    assert time[splits.others(held)].max() < time[held].min()


@pytest.mark.parametrize(
    "time",
    [
        pd.date_range("2020-01-01", periods=5),
        ["2020-01-0" + d for d in "12345"],
        ["2", "9", "10", "11", "100"],
        ["31.01.2020", "01.02.2020", "12.02.2020", "01.03.2020", "02.03.2021"],  # were read month first where possible
        ["30/01/2020", "01/02/2020", "12/02/2020", "01/03/2020", "02/03/2021"],
        range(5),
    ],
)
def test_times_are_numbers_or_dates(time):
    assert read_splitting(None, list(time), np.zeros(5)).rank.tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("groups", "time", "sentence"),
    [
        ([1, 1, 2], [1, 2, 3], "both given"),
        ([1, 2], None, r"groups has shape \(2,\) for 3 rows"),
        (None, [1, 2], r"time has shape \(2,\) for 3 rows"),
        (None, [1, np.nan, 2], "1 missing entries"),
        (None, ["a", "b", "c"], "neither a number nor a date"),
        (None, ["01/02/2020", "03/04/2020", "05/06/2020"], "day and month cannot be told apart"),
    ],
)
def test_bad_groups_and_times(groups, time, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        read_splitting(groups, time, np.zeros(3))


def test_copies_of_rows_do_not_narrow_the_intervals_of_a_path():
    """Four copies of each row are no more evidence than one."""
    copied, widths = np.repeat(np.arange(0, ROWS, 4), 4), []
    path = FairnessPath("spectral", **LINEAR)
    for groups in (GROUPS, None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path.fit(X[copied], Y[copied], sensitive_features=A[copied], groups=groups)
        last = path.front_.iloc[-1]
        widths.append(last["dpvar_high"] - last["dpvar_low"])
    assert widths[0] > 1.5 * widths[1]  # twice as wide: a quarter of the evidence


def test_a_path_in_time_is_judged_on_the_latest_rows():
    """The last quarter follows another rule; only figures from there can show it."""
    late = np.arange(ROWS) >= 300
    target = np.where(late, -Y, Y)
    path = FairnessPath("spectral", **LINEAR)
    shuffled = RANDOM.permutation(ROWS)
    x, y, a, time = X[shuffled], target[shuffled], A[shuffled], np.arange(ROWS)[shuffled]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        in_time = path.fit(x, y, sensitive_features=a, time=time).front_["mse"].iloc[-1]
        assert not path.cross_fitted_
        at_random = path.fit(x, y, sensitive_features=a).front_["mse"].iloc[-1]
    assert in_time > 1.5 * at_random


FEW = X[:200], Y[:200], A[:200]


@cache
def plain_dpvar():
    """DPVar of the model of weight 0, on rows whose attributes are known below."""
    x, y, a = FEW
    plain = FairRegressor(0.0, validation_fraction=None, **LINEAR).fit(x, y)
    return dpvar(None, plain.predict(x[1::2]), sensitive_features=a[1::2])


@pytest.mark.parametrize("name", sorted(NAMES))
def test_unknown_attributes_do_not_matter(name):
    """Whatever stands where attributes are unknown, the model is the same, and level on rows where they are known."""
    x, y, a = FEW
    unknown = np.arange(200) % 2 == 0
    gaps = np.where(unknown[:, None], np.nan, a)
    settings = {"penalty": quick_penalty(name), "validation_fraction": None, **LINEAR}
    with pytest.warns(UnknownAttributes, match="missing in 100 of 200 rows"):
        model = FairRegressor(30.0, **settings).fit(x, y, sensitive_features=gaps)
    level = dpvar(None, model.predict(x[~unknown]), sensitive_features=a[~unknown])
    assert level < 0.5 * plain_dpvar()
    assert model.dpvar_ == pytest.approx(level, rel=1e-6)


def test_rows_without_attributes_improve_accuracy():
    """The second feature can be learnt from all rows, disparity from a few."""
    unknown = np.arange(ROWS) >= 60
    gaps = np.where(unknown[:, None], np.nan, A)
    wide = np.column_stack([X, RANDOM.standard_normal((ROWS, 25))])
    fresh = np.column_stack([X[::-1], RANDOM.standard_normal((ROWS, 25))])
    settings = {"validation_fraction": None, **LINEAR}
    with pytest.warns(UnknownAttributes):
        both = FairRegressor(1.0, **settings).fit(wide, Y, sensitive_features=gaps)
    few = FairRegressor(1.0, **settings).fit(wide[:60], Y[:60], sensitive_features=A[:60])
    errors = [((each.predict(fresh) - Y[::-1]) ** 2).mean() for each in (both, few)]
    assert errors[0] < 0.8 * errors[1]


def test_a_path_judges_known_rows_only():
    gaps = np.where((np.arange(ROWS) % 3 == 0)[:, None], np.nan, A)
    path = FairnessPath("spectral", **LINEAR)
    with pytest.warns(UnknownAttributes):
        path.fit(X, Y, sensitive_features=gaps)
    level = path.best(max_share=0.1).predict(X)
    assert dpvar(None, level, sensitive_features=A) < 0.15 * level.var()


def test_classifiers_take_groups_and_gaps():
    gaps = np.where((np.arange(ROWS) % 3 == 0)[:, None], np.nan, A)
    model = FairClassifier(1.0, **LINEAR)
    with pytest.warns(UnknownAttributes):
        model.fit(X, Y > 0, sensitive_features=gaps, groups=GROUPS)
    assert model.predict_proba(X).shape == (ROWS, 2)


def test_relevel_takes_groups():
    front = relevel(lambda x: x[:, 0] + x[:, 1], X, sensitive_features=A, y=Y, groups=GROUPS, points=4)
    alone = relevel(lambda x: x[:, 0] + x[:, 1], X, sensitive_features=A, y=Y, points=4)
    assert not front.front_["mse"].equals(alone.front_["mse"])


def test_too_few_known_attributes():
    gaps = np.where((np.arange(ROWS) > 5)[:, None], np.nan, A)
    with pytest.raises(InvalidInput, match=r"missing values .NaN. in 394 of 400 rows"):
        FairRegressor(1.0).fit(X, Y, sensitive_features=gaps)


def test_training_counts_groups_where_rows_belong_together():
    """Each row four times: the ridge that explains a row by its copies made the penalty the variance of predictions."""
    random = np.random.default_rng(1)
    a = random.uniform(-1.7, 1.7, 250)
    x = np.column_stack([a + random.normal(0, 0.7, 250), random.standard_normal(250)])
    y = x @ [2, 1] + random.normal(0, 0.5, 250)
    copies = np.repeat(np.arange(250), 4)
    settings = {"predictor": "linear", "validation_fraction": None, "random_state": 0}
    once = FairRegressor(3.0, **settings).fit(x, y, sensitive_features=a)
    repeated = FairRegressor(3.0, **settings).fit(x[copies], y[copies], sensitive_features=a[copies], groups=copies)
    slopes = [np.linalg.lstsq(x, model.predict(x) - y.mean(), rcond=None)[0] for model in (once, repeated)]
    assert slopes[0][0] < 0.8  # of 2: most of it is level
    np.testing.assert_allclose(slopes[1], slopes[0], atol=0.2)


def test_groups_of_some_rows_are_split_as_if_the_others_had_never_been():
    random = np.random.default_rng(0)
    groups, kept = random.integers(0, 50, 300), random.random(300) < 0.5
    some, alone = WholeGroups(groups).take(np.flatnonzero(kept)), read_splitting(groups[kept], None, groups[kept])
    np.testing.assert_array_equal(some.folds(4, 0), alone.folds(4, 0))


def test_rows_that_weight_trees_belong_to_no_group_that_grew_them():
    groups = np.random.default_rng(0).integers(0, 30, 200)
    rows = TrainingRows(X[:200], Y[:200], Attributes(A[:200], groups=groups))
    grown, new = split_for_weights(rows, 0)
    assert not set(groups[grown]) & set(groups[new])
    assert sorted([*grown, *new]) == list(range(200))
    assert 30 < len(new) < 90

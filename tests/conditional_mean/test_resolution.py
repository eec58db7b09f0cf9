"""The resolution of a conditional mean: which ones rows allow, and which one values need."""

import numpy as np
import pytest
import torch

from fairlevel import FairRegressor, GroupMean, RandomFeaturesMean, SplineMean, dpvar_interval
from fairlevel.conditional_mean import tuning
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.resolution import _errors, resolutions_for, with_chosen_resolution
from fairlevel.exceptions import InvalidInput
from fairlevel.networks.optimizers import Adam
from fairlevel.penalties import ClosedFBO

ROWS = 6000
PLACES = np.random.default_rng(0).uniform(size=(ROWS, 2))
SMOOTH = PLACES[:, 0] + PLACES[:, 1] ** 2
ROUGH = 2 * np.sin(6 * np.pi * PLACES[:, 0]) * np.sin(6 * np.pi * PLACES[:, 1])  # whole periods: variance 1
NOISE = np.random.default_rng(1).standard_normal((2, ROWS))


def widths(means):
    return [mean.bandwidth for mean in means]


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [
        (1, 999, [1]),
        (1, 1000, [1, 1 / 4, 1 / 16, 1 / 64]),
        (1, 2560, [1, 1 / 4, 1 / 16, 1 / 64, 1 / 256]),
        (2, 2559, [1, 1 / 4]),
        (2, 2560, [1, 1 / 4, 1 / 16]),
        (3, 1000, [1, 1 / 4]),
        (4, 2559, [1]),
        (4, 2560, [1, 1 / 4]),
        (10, 100_000, [1]),
    ],
)
def test_a_narrow_kernel_needs_ten_rows_per_place_and_a_thousand(columns, rows, expected):
    a = np.random.default_rng(0).standard_normal((rows, columns))
    assert widths(RandomFeaturesMean().resolutions(a)) == expected


def test_a_column_of_two_values_has_two_places():
    a = np.column_stack([PLACES, np.arange(ROWS) % 2])
    assert widths(RandomFeaturesMean().resolutions(a[:5119])) == [1, 1 / 4]
    assert widths(RandomFeaturesMean().resolutions(a[:5120])) == [1, 1 / 4, 1 / 16]


def test_features_follow_the_places():
    a = np.random.default_rng(0).standard_normal((20_000, 2))
    assert [each.features for each in RandomFeaturesMean().resolutions(a)] == [200, 200, 500]
    assert [each.features for each in RandomFeaturesMean().resolutions(a[:6000])] == [200, 200, 400]
    assert [each.features for each in RandomFeaturesMean(features=50).resolutions(a)] == [50, 50, 125]


@pytest.mark.parametrize("mean", [RandomFeaturesMean(bandwidth=0.5), SplineMean(), GroupMean()])
def test_what_is_given_is_not_chosen(mean):
    assert mean.resolutions(PLACES) == (mean,)
    assert resolutions_for(mean, Attributes(PLACES), torch.from_numpy(ROUGH[None]), 0) == (mean,)


def test_values_decide():
    rows, values = Attributes(PLACES), torch.from_numpy(np.stack([SMOOTH, ROUGH]) + NOISE)
    assert widths(resolutions_for(RandomFeaturesMean(), rows, values[:1], 0)) == [1]
    assert widths(resolutions_for(RandomFeaturesMean(), rows, values, 0))[1:] == [1 / 16]
    assert with_chosen_resolution(RandomFeaturesMean(), rows, SMOOTH, 0).bandwidth == 1
    assert with_chosen_resolution(RandomFeaturesMean(), rows, ROUGH, 0).bandwidth == 1 / 16


@pytest.mark.parametrize("given", [False, True])
def test_errors_are_those_of_ridge_regression(given):
    """Generalised cross-validation from the hat matrix of the augmented normal equations."""
    count, ridge = 300, 0.02
    a, weight = PLACES[:count], np.random.default_rng(2).uniform(0.5, 1.5, count)
    factor = NOISE[1, :count, None] if given else None
    rows = Attributes(a, row_weight=weight, given=factor, factors=factor)
    mean = RandomFeaturesMean(ridge=ridge, bandwidth=0.25, features=20)
    centred = torch.from_numpy(ROUGH[:count] - rows.weight @ ROUGH[:count])[None]
    free, waves = mean.joint_map(rows, 0)(rows)
    columns = [np.ones((count, 1)), *([factor] if given else []), free, waves]
    design, w = np.hstack(columns), rows.weight
    penalty = np.diag(np.r_[np.zeros(design.shape[1] - waves.shape[1]), np.full(waves.shape[1], ridge)])
    hat = design @ np.linalg.solve(design.T @ (w[:, None] * design) + penalty, design.T * w)
    residual = (np.eye(count) - hat) @ centred[0].numpy()
    left = 1 - 2 * np.trace(hat) * (w**2).sum()
    expected = (w @ residual**2) / left**2
    assert float(_errors(mean, rows, centred, 0)[0]) == pytest.approx(expected, rel=1e-6)


def test_differences_between_near_profiles_are_found():
    """E[f|A] is 2 sin(6πa₁) sin(6πa₂), of variance 1; a smooth mean finds nothing of it."""
    truth = float(ROUGH.var())
    found = dpvar_interval(ROUGH + NOISE[0], sensitive_features=PLACES)
    assert found.low < truth < found.high
    assert found.low > 0.9
    assert found.regressor.startswith("random_features of bandwidth 0.0625 (")
    smooth = dpvar_interval(ROUGH + NOISE[0], sensitive_features=PLACES, regressor=RandomFeaturesMean(bandwidth=1.0))
    assert smooth.high < 0.1


def test_smooth_disparity_is_measured_as_before():
    known = {
        regressor: dpvar_interval(SMOOTH + NOISE[0], sensitive_features=PLACES, regressor=regressor)
        for regressor in (RandomFeaturesMean(), RandomFeaturesMean(bandwidth=1.0))
    }
    open_, given = known.values()
    assert open_ == given


def test_penalties_train_with_the_bandwidth_that_y_needs():
    rows = Attributes(PLACES)
    assert ClosedFBO().tuned(rows, SMOOTH + NOISE[0], 0).mean.bandwidth == 1
    assert ClosedFBO().tuned(rows, ROUGH + NOISE[0], 0).mean.bandwidth == 1 / 16
    assert ClosedFBO(RandomFeaturesMean(bandwidth=1.0)).tuned(rows, ROUGH, 0).mean.bandwidth == 1


QUICK = {"optimizer": Adam(0.05, steps=150), "validation_fraction": None, "random_state": 0}


def test_a_model_levels_differences_between_near_profiles():
    some = slice(3000)
    x, a = np.column_stack([ROUGH, NOISE[0]])[some], PLACES[some]
    y = x.sum(axis=1) + 0.1 * NOISE[1, some]
    effects = []
    for mean in (RandomFeaturesMean(), RandomFeaturesMean(bandwidth=1.0)):
        model = FairRegressor(30.0, penalty=ClosedFBO(mean), predictor="linear", **QUICK)
        effects.append(np.polyfit(ROUGH[some], model.fit(x, y, sensitive_features=a).predict(x), 1)[0])
    assert effects[0] < 0.1
    assert effects[1] > 0.4


def test_a_bandwidth_must_be_positive():
    with pytest.raises(
        InvalidInput, match=r"bandwidth=0 was given; a positive number is needed, such as 1\.0, or None"
    ):
        RandomFeaturesMean(bandwidth=0)


def test_seasons_of_forty_years_are_found():
    """Stripes of half a year along one number."""
    random = np.random.default_rng(6)
    year = random.uniform(0, 40, 8000)
    prediction = np.where(year % 1 < 0.5, 1.0, -1.0) + random.standard_normal(8000)
    found = dpvar_interval(prediction, sensitive_features=year)
    assert 0.75 < found.estimate < 1.05


@pytest.mark.parametrize("groups", [np.arange(600) // 300, np.arange(600) // 4], ids=["two large", "many small"])
def test_a_part_of_the_groups_tunes_a_mean_on_very_many_rows(monkeypatch, groups):
    """The first of two large groups has more rows than are looked at: it cannot be judged without another one."""
    random = np.random.default_rng(0)
    a = random.standard_normal((600, 1))
    rows, target = Attributes(a, groups=groups), a[:, 0] + random.standard_normal(600)
    whole = tuning.tuned_mean(RandomFeaturesMean(), rows, target, 0)
    monkeypatch.setattr(tuning, "MANY_ROWS", 200)
    part = tuning.tuned_mean(RandomFeaturesMean(), Attributes(a, groups=groups), target, 0)
    assert part.ridge > 0
    assert whole.ridge > 0

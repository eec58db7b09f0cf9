"""The test of DPVar = 0: its tail against exact and simulated ones, and how often it rejects where nothing is."""

import numpy as np
import pytest
from scipy.stats import binom, chi2

from fairlevel import GroupMean, RandomFeaturesMean, SplineMean, dpvar_interval
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.factors import attributes_within
from fairlevel.metrics.choice import candidates_for
from fairlevel.metrics.no_disparity_test import _cauchy, p_value_of_no_disparity, tail


def traces(weights):
    return [float(np.sum(weights**power)) for power in (1, 2, 3)]


@pytest.mark.parametrize("count", [1, 2, 7, 100])
@pytest.mark.parametrize("p", [0.5, 0.05, 1e-10])
def test_equal_weights_are_exact(count, p):
    value = 0.3 * chi2.isf(p, count)
    assert tail(value, *traces(np.full(count, 0.3))) == pytest.approx(p, rel=1e-9)


WEIGHTS = {
    "one large": np.r_[1.0, np.full(30, 0.02)],
    "falling": 1.0 / np.arange(1, 40),
    "steep": 0.5 ** np.arange(12),
    "two sizes": np.repeat([1.0, 0.2], [5, 50]),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_unequal_weights_are_those_of_simulation(name):
    weights = WEIGHTS[name]
    sums = np.random.default_rng(0).chisquare(1, (200_000, len(weights))) @ weights
    for p, within in ((0.2, 0.1), (0.05, 0.1), (0.01, 0.3), (0.001, 0.5)):  # the far tail is a little light
        found = tail(float(np.quantile(sums, 1 - p)), *traces(weights))
        assert found == pytest.approx(p, rel=within)


def test_without_noise_any_value_is_beyond_chance():
    assert tail(0.0, 0.0, 0.0, 0.0) == 1
    assert tail(1e-9, 0.0, 0.0, 0.0) == 0


def test_one_p_value_from_several():
    assert _cauchy([]) == 1
    assert _cauchy([0.03]) == pytest.approx(0.03)
    assert _cauchy([0.03] * 5) == pytest.approx(0.03)
    assert _cauchy([1e-40, 0.5, 1.0 - 1e-13]) == pytest.approx(3e-40, rel=1e-3)
    p = np.random.default_rng(0).uniform(size=(20_000, 3))
    p[:, 1] = p[:, 0]  # however they depend on each other
    assert np.mean([_cauchy(each) < 0.05 for each in p.tolist()]) == pytest.approx(0.05, abs=4 * 0.0016)


ROWS = 200
A = np.random.default_rng(1).standard_normal((ROWS, 3))
TWO, MANY = (A[:, :1] > 0).astype(float), np.round(10 * np.tanh(A[:, :1]))
PAIRS, WEIGHT = np.arange(ROWS) // 2, 0.5 + np.random.default_rng(2).exponential(size=ROWS)
NULL = {  # mean, rows, least rate of rejections at 5 % and 50 %
    "two levels": (GroupMean(), Attributes(TWO), 0.85),
    "many levels": (GroupMean(), Attributes(MANY), 0.6),
    "levels, weights": (GroupMean(), Attributes(TWO, row_weight=WEIGHT), 0.85),
    "levels in pairs": (GroupMean(), Attributes(TWO, groups=PAIRS), 0.85),
    "levels within a factor": (GroupMean(), attributes_within(TWO, A[:, 1:2], None, None), 0.5),
    "splines": (SplineMean(), Attributes(A), 0.5),
    "random features in pairs": (RandomFeaturesMean(), Attributes(A, row_weight=WEIGHT, groups=PAIRS), 0.5),
    "best of all": (None, Attributes(np.hstack([MANY, A[:, 1:]])), 0.4),
}
DRAWS = 400


def noise(rows, seed):
    """Noise that grows along A, shared in part within pairs."""
    random = np.random.default_rng(seed)
    draws = random.standard_normal((DRAWS, ROWS))
    if rows.groups is not None:
        draws += random.standard_normal((DRAWS, ROWS // 2))[:, rows.groups]
    draws *= 1 + np.abs(A[:, 0]) / 2
    return draws - (draws @ rows.weight)[:, None]


@pytest.mark.parametrize("name", NULL)
def test_it_rejects_as_often_as_it_says_where_nothing_is(name):
    """Neither too often, by four standard errors, nor so rarely that differences would be missed."""
    mean, rows, least = NULL[name]
    candidates = candidates_for(rows, 0, mean)
    p = np.array([p_value_of_no_disparity(draw, candidates) for draw in noise(rows, 3)])
    for level in (0.05, 0.2, 0.5):
        rate, error = np.mean(p < level), 4 * np.sqrt(level * (1 - level) / DRAWS)
        assert rate < 1.15 * level + error
        assert rate > least * level - error
    assert binom.sf((p < 0.01).sum() - 1, DRAWS, 0.015) > 1e-4


@pytest.mark.parametrize("effect", [0.25, 0.4])
def test_a_difference_of_two_groups_is_found_as_often_as_by_students_t(effect):
    from scipy.stats import ttest_ind

    group, found, expected = TWO[:, 0], [], []
    for seed in range(150):
        f = effect * group + np.random.default_rng(seed).standard_normal(ROWS)
        found.append(dpvar_interval(f, sensitive_features=group, regressor=GroupMean()).p_value < 0.05)
        expected.append(ttest_ind(f[group > 0], f[group == 0], equal_var=False).pvalue < 0.05)
    assert np.mean(found) > np.mean(expected) - 0.12


def test_forms_below_their_mean_have_large_p_values():
    """Where the form is far below its mean, the shifted χ² would be asked below 0."""
    eigenvalues = np.r_[np.full(40, 0.01), 1.0]
    sums = [float((eigenvalues**power).sum()) for power in (1, 2, 3)]
    assert tail(0.0, *sums) == 1.0
    values = [tail(value, *sums) for value in np.linspace(0, 10, 200)]
    assert np.isfinite(values).all()
    assert (np.diff(values) <= 0).all()


def test_p_values_are_numbers_where_the_noise_is_uneven():
    p_values = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        group = np.arange(210) % 21
        f = random.standard_normal(210) * np.where(group == 0, 5.0, 1.0)
        p_values.append(dpvar_interval(f, sensitive_features=group.astype(str)).p_value)
    assert np.isfinite(p_values).all()
    assert np.mean(np.array(p_values) <= 0.05) <= 0.15

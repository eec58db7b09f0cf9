"""Disparity within legitimate factors: closed forms of Gaussian designs, dense projections, bad input."""

import numpy as np
import pandas as pd
import pytest

from fairlevel import GroupMean, MLPMean, SplineMean, audit, compare, dpvar, dpvar_interval
from fairlevel.conditional_mean.factors import LegitimateFactors, attributes_within
from fairlevel.exceptions import FewRowsPerCombination, InvalidInput
from fairlevel.metrics.debiased import left_out
from fairlevel.metrics.units import Units

ROWS = 10_000
RANDOM = np.random.default_rng(0)
L, E, Z = RANDOM.standard_normal((3, ROWS))
GROUP = RANDOM.integers(0, 3, ROWS)
BINARY = (RANDOM.random(ROWS) < 0.5).astype(float)

CASES = {  # prediction, A, L, truth
    "part of A beyond L": (0.7 * Z + np.sin(L) + E, Z + 0.8 * L, L, 0.49),
    "interaction": (Z * L, Z, L, 1.0),
    "interaction with noise": (Z * L + E, Z, L, 1.0),
    "function of L, A = L + noise": (np.sin(2 * L) + E, L + 0.5 * Z, L, 0.0),
    "two categories": ((BINARY - 0.5) * (GROUP - 1) * 2 + E, BINARY, GROUP, 2 / 3),
    "category by curve": ((BINARY - 0.5) * (L**2 - 1) + E, BINARY, L, 0.5),
    "curve by category": (Z * (GROUP - 1) + E, Z, GROUP, 2 / 3),
    "mixed factors": (0.5 * Z + GROUP * np.sin(L) + E, Z + L, np.column_stack([GROUP, L]), 0.25),
}


@pytest.mark.parametrize("case", CASES)
def test_closed_forms(case):
    prediction, sensitive, given, truth = CASES[case]
    found = dpvar_interval(prediction, sensitive_features=sensitive, given=given)
    error = (found.high - found.low) / (2 * 1.96)
    assert abs(found.estimate - truth) <= 3 * error
    if truth == 0:
        assert found.low == 0
        assert found.high < 0.002


def test_point_estimate_is_that_of_the_interval():
    prediction, sensitive, given = ((Z * L + E)[:300], Z[:300], L[:300])
    found = dpvar_interval(prediction, sensitive_features=sensitive, given=given)
    assert dpvar(None, prediction, sensitive_features=sensitive, given=given) == pytest.approx(found.estimate)


def test_without_factors_a_proxy_is_disparity():
    prediction, sensitive, *_ = CASES["function of L, A = L + noise"]
    assert dpvar_interval(prediction, sensitive_features=sensitive).low > 0.05


@pytest.mark.parametrize(
    ("g", "rows"),
    [(np.exp, 300), (np.abs, 300), (lambda x: np.sin(2 * x), 300), (lambda x: x > 0, 2000)],
    ids=["exponential", "absolute value", "wave", "jump"],
)
def test_a_function_of_the_factors_alone_is_no_disparity(g, rows):
    prediction, sensitive = g(L[:rows]) * 1.0, L[:rows] + 0.5 * Z[:rows]
    assert abs(dpvar(None, prediction, sensitive_features=sensitive, given=L[:rows])) < 0.01 * prediction.var()


def test_categories_are_compared_cell_by_cell():
    """Truth: the weighted variance of cell means around the means of L, less its noise, row by row."""
    a, c, f = BINARY[:600].astype(int), GROUP[:600], (E + BINARY * GROUP)[:600]
    cell, count = 3 * a + c, np.bincount(3 * a + c)
    mean, of_l = np.bincount(cell, f) / count, np.bincount(c, f) / np.bincount(c)
    plug_in = np.mean((mean[cell] - of_l[c]) ** 2)
    leverage, of_factors = 1 / count[cell], 1 / np.bincount(c)[c]
    noise = (f - of_l[c]) * (f - mean[cell]) / (1 - leverage)
    beyond = (f - of_l[c]) / (1 - of_factors)
    lost = np.mean((of_factors - 1 / 600) * beyond * (beyond - (f - mean[cell]) / (1 - leverage)))
    found = dpvar(None, f, sensitive_features=a, given=c, regressor=GroupMean())
    assert found == pytest.approx(plug_in - np.mean((leverage - of_factors) * noise) + lost, rel=1e-9)


def test_every_category_of_several_factors_is_accounted_for():
    """Truth: 0, for predictions depend on the factors alone. Ten rows per category were too few for that."""
    random = np.random.default_rng(0)
    factors = pd.DataFrame(random.integers(0, 30, (300, 2)), columns=["region", "job"])
    effect = random.standard_normal((2, 30))
    prediction = effect[0][factors["region"]] + effect[1][factors["job"]]
    sensitive = prediction + random.standard_normal(300)
    with pytest.warns(FewRowsPerCombination, match="combinations of categories on 300 rows, fewer than 5"):
        found = dpvar(None, prediction, sensitive_features=sensitive, given=factors.astype(str) + "x")
    assert abs(found) < 1e-6


def test_the_outcome_as_factor_is_equalised_odds():
    y = (E + Z > 0).astype(float)
    assert dpvar_interval(y + L, sensitive_features=Z, given=y).p_value > 0.01
    assert dpvar_interval(y + L + 0.1 * Z, sensitive_features=Z, given=y).low > 0


@pytest.mark.study
def test_the_papers_estimate_within_factors():
    prediction, sensitive, given = Z[:1500] * L[:1500] + E[:1500], Z[:1500], L[:1500]
    paper = dpvar(None, prediction, sensitive_features=sensitive, given=given, method="paper", regressor=MLPMean())
    assert paper == pytest.approx(1, abs=0.25)


def test_functions_of_factors_at_new_rows_are_those_of_all_rows():
    factors = np.column_stack([L, GROUP])[:500]
    functions = LegitimateFactors.of(factors)
    np.testing.assert_allclose(functions(factors[:7]), functions(factors)[:7], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        functions(factors).T @ functions(factors) / 500, np.eye(functions(factors).shape[1]), atol=1e-6
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (pd.DataFrame({"b": L[:50], "a2": 3 - 2 * Z[:50]}), "'a2' is the same as sensitive column 'a'"),
        (np.ones(50), "a single value"),
        (L[:49], "given has 49 rows"),
        (np.where(np.arange(50) == 3, np.nan, L[:50]), "given holds 1 missing"),
        ([f"person {row}" for row in range(50)], "50 categories on 50 rows; at least 5 rows per category"),
    ],
)
def test_factors_that_cannot_be_used(given, words):
    sensitive, prediction = pd.DataFrame({"a": Z[:50]}), E[:50]
    for call in (
        lambda: dpvar(None, prediction, sensitive_features=sensitive, given=given),
        lambda: dpvar_interval(prediction, sensitive_features=sensitive, given=given),
        lambda: audit(prediction, sensitive_features=sensitive, given=given),
        lambda: compare(prediction, prediction, sensitive_features=sensitive, given=given),
    ):
        with pytest.raises(InvalidInput, match=words):
            call()


def test_very_many_categories_of_factors_are_refused():
    """An audit did not end within minutes."""
    factors = pd.Series(np.arange(6000) % 1200).map("region {}".format)
    with pytest.raises(InvalidInput, match="given has 1200 categories; at most 1000 are possible"):
        dpvar(None, np.arange(6000.0), sensitive_features=np.arange(6000.0) % 7, given=factors)


def test_a_factor_that_is_constant_up_to_rounding_changes_nothing():
    constant = 1e15 + np.arange(80) % 2 / 4
    plain, within = (
        dpvar(None, Z[:80] + E[:80], sensitive_features=Z[:80], given=given, method="paper", random_state=0)
        for given in (None, constant)
    )
    assert within == pytest.approx(plain, rel=1e-6)


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(60), 2)])
def test_the_noise_of_the_test_counts_what_functions_of_the_factors_fit_by_chance(groups):
    """White noise has variance 1 in each row, and on average in each group, after functions of L took their part."""
    a, factors = np.random.default_rng(4).normal(size=(2, 120, 1))
    rows = attributes_within(a, np.hstack([factors, factors**2]), None, groups)
    units, smoother = Units.of(rows), SplineMean().prepare(rows)
    assert smoother.nuisance.shape[1] > 6
    every = smoother.beyond_nuisance(np.eye(120))  # one unit of noise at a time
    variances = np.square(left_out(every, smoother, np.zeros(smoother.functions.count), units, 0.5)).sum(axis=0)
    sums = variances if groups is None else np.bincount(groups, variances) / 2
    np.testing.assert_allclose(sums, 1, rtol=1e-9)

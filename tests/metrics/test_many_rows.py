"""Very many rows, block by block: the same answer as all at once."""

from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
import torch

from fairlevel import RandomFeaturesMean, SplineMean, dpvar, dpvar_interval
from fairlevel.conditional_mean import GroupMean, RidgeMean, blockwise
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.blockwise import Functions
from fairlevel.conditional_mean.factorisation import factor
from fairlevel.conditional_mean.protocol import _features
from fairlevel.metrics import linear_estimators
from fairlevel.metrics.choice import candidates_in_turn
from fairlevel.metrics.evidence import influence_sums
from fairlevel.metrics.leave_one_out import leave_out_dpvar
from fairlevel.metrics.streamed import Plan, add, measured
from fairlevel.metrics.units import IndependentUnits, null_variance


@pytest.fixture
def drawn():
    random = np.random.default_rng(0)
    a = np.column_stack([random.standard_normal(700), random.integers(0, 4, 700)])
    return a, a[:, 0] ** 2 + 0.3 * a[:, 1] + random.standard_normal(700), random.uniform(0.5, 2, 700)


def one_plan(mean, rows, ridge):
    """A mean and a ridge that are not chosen."""
    return Plan(
        (Functions.of(mean, replace(rows, row_weight=None), 0),),
        np.zeros(1, int),
        np.array([ridge]),
        (ridge,),
        ("",),
        np.zeros(1),
        np.ones(1),
        0,
    )


def assert_same_evidence(streamed, prediction, smoother, ridge):
    expected = leave_out_dpvar(prediction.unsqueeze(0), smoother, torch.tensor([ridge], dtype=torch.float64))
    sums = influence_sums(prediction, expected.fitted[0], expected.residual[0], smoother.row_weight, IndependentUnits())
    np.testing.assert_allclose(streamed.estimate, expected.estimate[0], rtol=1e-8)
    np.testing.assert_allclose(streamed.degenerate, null_variance(expected, smoother, IndependentUnits())[0], rtol=1e-6)
    np.testing.assert_allclose(streamed.fitted_variance, sums["fitted_variance"], rtol=1e-8)
    np.testing.assert_allclose(streamed.influence, sums["influence"], rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True], ids=["alike", "weighted"])
@pytest.mark.parametrize("mean", [SplineMean(), RandomFeaturesMean(), RidgeMean(), GroupMean()], ids=lambda m: m.name)
def test_blocks_give_the_same_estimate_and_noise(drawn, mean, weighted, monkeypatch):
    monkeypatch.setattr(blockwise, "BLOCK", 97)
    a, f, weight = drawn
    rows = Attributes(a, row_weight=weight if weighted else None)
    centred = f - rows.weight @ f
    prediction = centred / np.sqrt(rows.weight @ centred**2)
    plan = one_plan(mean, rows, 1e-3)
    (found,) = measured(plan, rows, prediction[None])
    together = factor(_features(mean.joint_map(Attributes(a), 0), rows), torch.from_numpy(rows.weight))
    assert_same_evidence(found, torch.from_numpy(prediction), together, 1e-3)


@pytest.mark.parametrize("mean", [SplineMean(), RandomFeaturesMean(features=40), GroupMean()], ids=lambda m: m.name)
def test_functions_in_32_bits_give_the_same_estimate_and_noise(mean):
    """From 20,000 rows on; leverages are not small beside rounding errors on fewer."""
    random = np.random.default_rng(0)
    a = np.column_stack([random.standard_normal(21_000), random.integers(0, 4, 21_000)])
    rows = Attributes(a, row_weight=random.uniform(0.9, 1.1, len(a)))
    f = a[:, 0] ** 2 + 0.3 * a[:, 1] + random.standard_normal(len(a))
    centred = f - rows.weight @ f
    prediction = centred / np.sqrt(rows.weight @ centred**2)
    plan = one_plan(mean, rows, 1e-3)
    prepared = plan.fitted(plan.moments(rows, prediction[None]))
    assert prepared.by_smoother[0].smoother.precision == torch.float32
    (found,) = prepared.evidence(prepared.terms(rows, prediction[None]))
    together = factor(_features(mean.joint_map(Attributes(a), 0), rows), torch.from_numpy(rows.weight))
    assert_same_evidence(found, torch.from_numpy(prediction), together, 1e-3)


def test_parts_add_up_wherever_they_are_computed(drawn):
    """Moments and terms of parts, each through files, are those of all rows."""
    a, f, weight = drawn
    rows = Attributes(a, row_weight=weight)
    plan = replace(one_plan(GroupMean(), rows, 1e-3), centre=np.array([1e6]), scale=np.array([3.0]))
    far = (1e6 + f)[None]
    pieces = [np.arange(0, 100), np.arange(100, 101), np.arange(101, 700)]
    prepared = plan.fitted(reduce(add, (plan.moments(rows.take(own), far[:, own]) for own in pieces)))
    (found,) = prepared.evidence(reduce(add, (prepared.terms(rows.take(own), far[:, own]) for own in pieces)))
    (expected,) = measured(plan, rows, far)
    assert found.estimate == pytest.approx(expected.estimate, rel=1e-12)
    assert found.variance == pytest.approx(
        np.average((f - np.average(f, weights=weight)) ** 2, weights=weight), rel=1e-9
    )
    np.testing.assert_allclose(found.influence, expected.influence, rtol=1e-12)
    assert found.p_value == expected.p_value


def test_a_constant_prediction_has_no_disparity(drawn):
    rows = Attributes(drawn[0])
    plan = replace(one_plan(SplineMean(), rows, 0.1), centre=np.array([0.1]))
    (found,) = measured(plan, rows, np.full((1, 700), 0.1))
    assert (found.variance, found.estimate, found.p_value) == (0, 0, 1)


@pytest.mark.parametrize("singles", [3, 400])  # a few rows of high leverage, and more than three quarters of all
def test_rows_of_high_leverage_are_treated_alike_in_blocks(singles, monkeypatch):
    """A cell of one row is fitted exactly: the noise of the others stands in for its own."""
    monkeypatch.setattr(blockwise, "BLOCK", 97)
    random = np.random.default_rng(0)
    a = np.r_[np.repeat([0.0, 1.0], 60), np.arange(2.0, 2.0 + singles)][:, None]
    f = random.standard_normal(len(a))
    prediction = (f - f.mean()) / f.std()
    rows = Attributes(a)
    (found,) = measured(one_plan(FreeCells(), rows, 0.0), rows, prediction[None])
    assert_same_evidence(found, torch.from_numpy(prediction), FreeCells().prepare(rows), 0.0)


class FreeCells(RidgeMean):
    """A free average per distinct value, however few rows it has."""

    def feature_map(self, sensitive, row_weight, seed):
        known = np.unique(sensitive)
        return lambda rows: ((rows == known).astype(float), np.empty((len(rows), 0)))


def test_intervals_of_many_rows_agree_with_the_direct_ones(monkeypatch):
    random = np.random.default_rng(1)
    a = random.standard_normal((6000, 3))
    f = np.sin(a[:, 0]) + a[:, 1] + random.standard_normal(6000)
    direct = dpvar_interval(f, sensitive_features=a)
    monkeypatch.setattr(linear_estimators, "MOST_AT_ONCE", 5000)
    monkeypatch.setattr(linear_estimators, "SAMPLE_ROWS", 3000)
    streaming = dpvar_interval(f, sensitive_features=a)
    assert "chosen on 3,000 rows" in streaming.regressor
    assert streaming.estimate == pytest.approx(direct.estimate, rel=0.01)
    assert streaming.low == pytest.approx(direct.low, rel=0.02)
    assert streaming.high == pytest.approx(direct.high, rel=0.02)
    assert streaming.p_value < 0.01
    assert dpvar(None, f, sensitive_features=a) == pytest.approx(streaming.estimate, rel=1e-12)
    none = dpvar_interval(random.permutation(f), sensitive_features=a)
    assert none.low == 0
    assert none.p_value > 0.05


@pytest.mark.parametrize("others", [0, 1], ids=["alone", "beside another attribute"])
def test_an_attribute_that_is_constant_in_the_sample_is_measured(others, monkeypatch):
    """Four rows of 4000 carry all of the disparity; the sample of 500 has none of them."""
    monkeypatch.setattr(linear_estimators, "MOST_AT_ONCE", 1000)
    monkeypatch.setattr(linear_estimators, "SAMPLE_ROWS", 500)
    random = np.random.default_rng(0)
    drawn = np.random.default_rng(0).choice(4000, 500, replace=False)
    rare = np.setdiff1d(np.arange(4000), drawn)[[5, 700, 1400, 3000]]
    a = np.column_stack([np.zeros(4000), *random.standard_normal((others, 4000))])
    a[rare, 0] = 1.0
    f = 100.0 * a[:, 0] + random.standard_normal(4000)
    found = dpvar_interval(f, sensitive_features=a)
    truth = 100.0**2 * 0.001 * 0.999
    assert found.estimate == pytest.approx(truth, rel=0.05)
    assert found.share > 0.85
    assert found.share_high > 0.9


def test_a_constant_attribute_has_no_disparity_on_many_rows_as_on_few(monkeypatch):
    f, nothing = np.random.default_rng(0).standard_normal(2000), np.zeros(2000)
    together = dpvar_interval(f, sensitive_features=nothing)
    monkeypatch.setattr(linear_estimators, "MOST_AT_ONCE", 1000)
    monkeypatch.setattr(linear_estimators, "SAMPLE_ROWS", 500)
    blocks = dpvar_interval(f, sensitive_features=nothing)
    assert (blocks.estimate, blocks.low, blocks.p_value) == (0.0, 0.0, 1.0)
    assert blocks.high == pytest.approx(together.high)


@pytest.mark.parametrize(("slope", "known"), [(2.0, True), (0.02, False)])
def test_a_p_value_known_from_the_sample_is_that_of_all_rows(slope, known):
    """Where the sample rejects beyond every draw, the test of all rows is not made, and would say the same."""
    random = np.random.default_rng(3)
    rows = Attributes(random.standard_normal((800, 2)))
    f = (slope * rows.values[:, 0] + random.standard_normal(800))[None]
    plan = Plan.of(candidates_in_turn(torch.from_numpy(f), rows, 0), rows, f, 0)
    assert plan.tested == (known,)
    (short,), (full,) = measured(plan, rows, f), measured(replace(plan, tested=()), rows, f)
    assert short.p_value == full.p_value
    assert short.estimate == full.estimate

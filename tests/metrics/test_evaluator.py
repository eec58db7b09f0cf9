"""Many predictions on the same rows: the figures of each alone."""

import numpy as np
import pytest

from fairlevel import MLPMean, RidgeMean, dpvar, dpvar_interval
from fairlevel.conditional_mean import protocol as module
from fairlevel.exceptions import InvalidType
from fairlevel.metrics.evaluator import DPVarEvaluator
from fairlevel.metrics.inputs import read_rows
from fairlevel.metrics.interval import error_of, interval_of

RANDOM = np.random.default_rng(0)
A = np.column_stack([RANDOM.standard_normal((600, 2)), RANDOM.integers(0, 3, 600)])
E = RANDOM.standard_normal(600)
PREDICTIONS = np.stack([np.sin(2 * A[:, 0]) + E, np.full(600, 3.3), 1e3 * E + 7, A[:, 2] + 0.1 * E**2])
FIGURES = ("estimate", "low", "high", "share", "share_low", "share_high", "p_value")


def figures(interval):
    return [getattr(interval, name) for name in FIGURES]


def evaluator_of_a():
    return DPVarEvaluator(read_rows(E, A).attributes(0), 0)


def test_intervals_are_those_of_each_prediction_alone():
    found = evaluator_of_a().intervals(PREDICTIONS)
    for interval, prediction in zip(found, PREDICTIONS, strict=True):
        alone = dpvar_interval(prediction, sensitive_features=A)
        np.testing.assert_allclose(figures(interval), figures(alone), rtol=1e-9, atol=1e-12)
        # of means that fit alike, such as two with four free functions, rounding decides which one is named
        assert interval.regressor.partition(" (")[2] == alone.regressor.partition(" (")[2]


def test_errors_and_intervals_come_from_the_same_evidence(monkeypatch):
    evaluator = evaluator_of_a()
    evidence = evaluator.evidence(PREDICTIONS)
    estimates, errors = np.array([error_of(each) for each in evaluator.evidence(PREDICTIONS)]).T
    np.testing.assert_array_equal([error_of(each) for each in evidence], np.column_stack([estimates, errors]))
    assert [interval_of(each) for each in evidence] == evaluator.intervals(PREDICTIONS)
    assert (estimates >= 0).all()
    assert errors[1] == 0
    for estimate, prediction in zip(estimates, PREDICTIONS, strict=True):
        assert estimate == pytest.approx(max(dpvar(None, prediction, sensitive_features=A), 0), rel=1e-9)
    # at z = 1 the upper end of the interval is one standard error away
    wide = [dpvar_interval(f, sensitive_features=A, level=0.6826894921370859).high for f in PREDICTIONS]
    np.testing.assert_allclose(estimates + errors, wide, rtol=1e-9)


def test_attributes_are_factored_once(monkeypatch):
    calls = []
    original = module.factor
    monkeypatch.setattr(module, "factor", lambda *settings: calls.append(settings) or original(*settings))
    evaluator = evaluator_of_a()
    evaluator.evidence(PREDICTIONS)
    evaluator.intervals(PREDICTIONS[:1])
    assert len(calls) == 3  # groups, splines, random features


@pytest.mark.parametrize("wrong", [RidgeMean, MLPMean, "ridge", 3.0])
@pytest.mark.parametrize("method", ["debiased", "paper"])
def test_other_objects_are_refused_as_regressors(wrong, method):
    with pytest.raises(InvalidType, match=r"MLPMean\(\)"):
        dpvar(None, E, sensitive_features=A, regressor=wrong, method=method)
    with pytest.raises(InvalidType, match=r"conditional mean object is needed, such as SplineMean\(\)"):
        dpvar_interval(E, sensitive_features=A, regressor=wrong)

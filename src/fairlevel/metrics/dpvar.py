"""DPVar = Var_A(E[f(X) | A]): how much the average prediction differs across the sensitive attributes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fairlevel.arrays import Array
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.protocol import LinearMean
from fairlevel.data.sensitive import is_one_profile
from fairlevel.exceptions import InvalidType, UnknownName
from fairlevel.extras import networks
from fairlevel.metrics.evaluator import DPVarEvaluator, Regressor, with_learnt
from fairlevel.metrics.inputs import EvaluationRows, check_level, read_every_row, read_seed
from fairlevel.metrics.interval import ONE_PROFILE, DPVarInterval, Evidence, StandardisedPredictions, interval_of

METHODS = "debiased", "paper"
_FACTORS = (
    "The prediction depends on the factors given in a way that these rows are too few to follow, so that a part of "
    "what the factors explain would count as disparity: pass fewer factors, or more rows."
)


def dpvar(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    given: Any = None,
    method: str = "debiased",
    regressor: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: Any = 0,
) -> float:
    r"""Variance of the conditional mean prediction given the sensitive attributes, in squared units of the prediction.

    .. math:: \mathrm{DPVar} = \operatorname{Var}_A\big(\mathbb E[f(X) \mid A]\big)

    With legitimate factors L, only differences between people with the same L count; L = y gives equalised odds of the
    mean:

    .. math:: \psi_c = \mathbb E\big[(\mathbb E[f(X) \mid A, L] - \mathbb E[f(X) \mid L])^2\big]

    Parameters
    ----------
    y_true : ignored; present because metrics are called as metric(y_true, y_pred)
    y_pred : array of shape (rows,)
    sensitive_features : array or frame of shape (rows,) or (rows, attributes); text and categories become indicators
    given : legitimate factors L, array or frame of shape (rows,) or (rows, factors), optional, numeric or categorical
    method : "debiased" (unbiased, may be slightly negative when the truth is near zero) or
        "paper" (a network fitted on one half, Var of its values on the other, averaged; biased upwards by the noise of
        the fit)
    regressor : the conditional mean; by default the best of splines, random features and groups, with learnt functions
        of A as in :func:`dpvar_interval` ("debiased"), or the diagnostic of the study ("paper"): 400 gradient steps of
        0.05
    sample_weight : array of shape (rows,), optional; how many people a row stands for. A weight of 3 is one row that
        counts three times, not three independent rows. So integer weights give the same answer as repeated rows whose
        copies share a label in ``groups``; without ``groups``, copies would be taken for new evidence. Where the mean
        is a curve, both may differ by a part of the interval: its knots, or the width of its features, are placed by
        rows
    groups : array of shape (rows,), optional; rows with the same label belong together, such as the visits of one
        person, and are left out together
    random_state : seed of random features, folds and networks

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from fairlevel import dpvar
    >>> group = np.repeat(["north", "south"], 10)
    >>> prediction = np.where(group == "south", 3.0, 1.0)
    >>> round(dpvar(None, prediction, sensitive_features=group), 6)
    1.0
    """
    if method not in METHODS:
        raise UnknownName("method", method, METHODS)
    seed = read_seed(random_state)
    rows = read_every_row(y_pred, sensitive_features, sample_weight, given, groups)
    rows = rows.take(rows.sample(seed))
    attributes = rows.attributes(seed)
    if method == "debiased":
        attributes = with_learnt(attributes, rows.prediction, seed, linear(regressor))
    return float(dpvar_of_many(rows.prediction[None], attributes, method, regressor, seed)[0])


def dpvar_interval(
    y_pred: Any,
    *,
    sensitive_features: Any,
    given: Any = None,
    level: float = 0.95,
    regressor: Regressor = None,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: Any = 0,
) -> DPVarInterval:
    """Debiased DPVar with a confidence interval valid near zero, a test of DPVar = 0, and its share of Var(f).

    Parameters
    ----------
    y_pred : array of shape (rows,)
    sensitive_features : array or frame of shape (rows,) or (rows, attributes)
    given : legitimate factors L, array or frame of shape (rows,) or (rows, factors), optional; see :func:`dpvar`
    level : confidence level of both intervals
    regressor : the conditional mean; by default splines, random features or groups, whichever describes the prediction
        best, with functions of A that boosted trees and nearest rows learn from the prediction, where these are clearly
        better; or a list of your own, which join that choice
    sample_weight : array of shape (rows,), optional; how many people a row stands for, see :func:`dpvar`
    groups : array of shape (rows,), optional; rows with the same label belong together, such as the visits of one
        person. Groups are independent, rows within a group need not be
    random_state : seed of random features and folds

    Returns
    -------
    DPVarInterval
    """
    check_level(level)
    seed = read_seed(random_state)
    rows = read_every_row(y_pred, sensitive_features, sample_weight, given, groups)
    return interval_of_rows(rows.take(rows.sample(seed)), linear(regressor), seed, level)


def interval_of_rows(rows: EvaluationRows, regressor: Regressor, seed: int, level: float = 0.95) -> DPVarInterval:
    """The same of rows that have been read."""
    if is_one_profile(rows.sensitive):
        return interval_of(Evidence.of_constant(ONE_PROFILE), level)
    return interval_across(rows.attributes(seed), rows.prediction, seed, regressor, level)


def interval_across(
    attributes: Attributes, prediction: Array, seed: int, regressor: Regressor = None, level: float = 0.95
) -> DPVarInterval:
    """The same of a prediction, (row,), across attributes that vary."""
    attributes = with_learnt(attributes, prediction, seed, regressor)
    (evidence,) = DPVarEvaluator(attributes, seed, regressor).evidence(prediction[None])
    interval = interval_of(evidence, level)
    if attributes.follow_factors or not interval.low:
        return interval
    return replace(interval, low=0.0, share_low=0.0, p_value=1.0, cannot_tell=_FACTORS)


def dpvar_of_many(
    predictions: Array,
    sensitive: Attributes | Array,
    method: str = "debiased",
    regressor: Any = None,
    random_state: int = 0,
) -> Array:
    """DPVar of several predictions on the same rows, what depends on A computed once: (config, row), attributes of
    the rows or (row, attribute) -> (config,).
    """
    rows = sensitive if isinstance(sensitive, Attributes) else Attributes(sensitive)
    if method == "debiased":
        return DPVarEvaluator(rows, random_state, linear(regressor)).estimates(predictions)
    if regressor is not None and (isinstance(regressor, type) or not hasattr(regressor, "descend")):
        raise InvalidType(
            f"method='paper' trains a network, but regressor={regressor} was given; pass regressor=MLPMean() or "
            "method='debiased'."
        )
    standardised, estimates = StandardisedPredictions.of(predictions, rows.counts), np.zeros(len(predictions))
    if len(standardised.configs):
        of_varying = networks("diagnostic").paper_estimates(standardised.values, rows, regressor, random_state)
        estimates[standardised.configs] = of_varying * standardised.variance
    return estimates


def linear(regressor: Any) -> Regressor:
    """What linear means were asked for; anything else is refused."""
    for mean in regressor if isinstance(regressor, list | tuple) else (regressor,):
        if mean is not None and not isinstance(mean, LinearMean):
            raise InvalidType(
                f"regressor={mean!r} was given; a conditional mean object is needed, such as SplineMean(), or "
                "MLPMean() for method='paper'."
            )
    return regressor  # type: ignore[no-any-return]

"""DPVar = Var_A(E[f(X) | A]): how much the average prediction differs across the sensitive attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairlevel.arrays import Array
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.protocol import kind_of
from fairlevel.exceptions import InvalidType, UnknownName
from fairlevel.extras import networks
from fairlevel.metrics.estimators import Regressor, estimator_for
from fairlevel.metrics.evidence import StandardisedPredictions
from fairlevel.metrics.inputs import read_rows, read_seed
from fairlevel.metrics.learnt_attributes import LearntAttributes


def dpvar(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    given: Any = None,
    method: str = "debiased",
    regressor: Regressor = None,
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
    random_state = read_seed(random_state)
    rows = read_rows(y_pred, sensitive_features, sample_weight, given, groups).sampled(random_state)
    attributes = rows.attributes(random_state)
    if method == "debiased" and (regressor is None or isinstance(regressor, list | tuple)):
        standardised, varying = StandardisedPredictions.of(rows.prediction[None], rows.row_weight)
        if varying:
            attributes = LearntAttributes.of(attributes, standardised.values, random_state, regressor).rows
    return float(dpvar_of_many(rows.prediction[None], attributes, method, regressor, random_state)[0])


def dpvar_of_many(
    predictions: Array,
    sensitive: Attributes | Array,
    method: str = "debiased",
    regressor: Regressor = None,
    random_state: int = 0,
) -> Array:
    """DPVar of several predictions on the same rows, what depends on A computed once: (config, row), attributes of
    the rows or (row, attribute) -> (config,).
    """
    rows = sensitive if isinstance(sensitive, Attributes) else Attributes(sensitive)
    standardised, varying = StandardisedPredictions.of(predictions, rows.counts)
    result = np.zeros(len(predictions))
    if varying:
        estimate = METHODS[method](standardised.values, rows, regressor, random_state)
        result[varying] = estimate * standardised.variance
    return result


def debiased(prediction: Array, rows: Attributes, regressor: Regressor, seed: int) -> Array:
    """Debiased DPVar of several standardised predictions: (config, row) in float64 -> (config,)."""
    return estimator_for(rows, regressor, seed).estimates(prediction)


def paper(prediction: Array, rows: Attributes, regressor: Regressor, seed: int) -> Array:
    """The paper's diagnostic of several predictions: (config, row) -> (config,)."""
    if regressor is not None and kind_of(regressor) != "trained":
        raise InvalidType(
            f"method='paper' trains a network, but regressor={regressor} was given; pass regressor=MLPMean() or "
            "method='debiased'."
        )
    estimates: Array = networks("diagnostic").paper_estimates(prediction, rows, regressor, seed)
    return estimates


METHODS: dict[str, Callable[[Array, Attributes, Regressor, int], Array]] = {
    "debiased": debiased,
    "paper": paper,
}

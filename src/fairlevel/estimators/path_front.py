"""The front of a fitted path as a table, one row per model."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairlevel.arrays import Array, Index
from fairlevel.auditing.questions import decisions
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.data.numbers import rounding_limit
from fairlevel.exceptions import AlreadyLevel, NoBetterThanTheMean
from fairlevel.metrics.dpvar import interval_across
from fairlevel.metrics.evaluator import DPVarEvaluator
from fairlevel.metrics.interval import DPVarInterval, error_of, interval_columns
from fairlevel.metrics.reliability import class_figures

if TYPE_CHECKING:
    from fairlevel.estimators.path_fit import PathFit, ReportingRows


def measured_front(
    fit: PathFit, reporting: ReportingRows, threshold: float | None, seed: int
) -> tuple[pd.DataFrame, Index]:
    """The models from the least disparity to the most accurate one, and the number of each among the points of the fit,
    (model,). Where the most accurate one is level already, it is the only one, apart from the one that was asked for.
    ``threshold`` is that of a decision, where y has two classes.
    """
    budgets, last = fit.points, reporting.intervals[-1]
    front = pd.DataFrame(
        {
            "selection_dpvar": [budget.dpvar(fit.choice) for budget in budgets],
            "mse": (reporting.predictions - reporting.target) ** 2 @ reporting.attributes.weight,
            **interval_columns(reporting.intervals),
            "members": [len(fit.model(budget).model) for budget in budgets],
            **_further_figures(reporting, threshold, seed),
        }
    )
    if last.p_value > 0.05:
        warnings.warn(
            AlreadyLevel(
                f"No disparity was found in the most accurate model (p = {last.p_value:.2f}), so there is nothing to "
                "trade off; the front is that one model."
            ),
            stacklevel=4,  # the caller of fit
        )
        most_accurate = len(front) - 1
        asked = most_accurate if fit.asked is None else fit.asked
        front = front.iloc[sorted({asked, most_accurate})]
    if "r2" in front and front["r2"].max() <= 0:
        warnings.warn(
            NoBetterThanTheMean(
                f"No model errs less on unseen rows than the average of y (the largest R² is {front['r2'].max():.2f}): "
                "do not use these models. Try fewer columns, more rows, or another solver."
            ),
            stacklevel=4,
        )
    return front.reset_index(drop=True), front.index.to_numpy()


def _further_figures(reporting: ReportingRows, threshold: float | None, seed: int) -> dict[str, list[float] | Array]:
    """Columns of a front beside error and disparity: R² of numbers; or, with the threshold of a decision, log-loss, AUC
    and accuracy of probabilities, and the DPVar of decisions that are 1 at or above the threshold.
    """
    target, weight, predictions = reporting.target, reporting.attributes.weight, reporting.predictions
    if threshold is None:
        variance = float(weight @ (target - weight @ target) ** 2)
        mse = (predictions - target) ** 2 @ weight
        varies = np.ptp(target) > rounding_limit(target)
        return {"r2": 1 - mse / variance if varies else np.full(len(mse), np.nan)}
    decided = np.stack([decisions(np.clip(each, 0, 1), threshold) for each in predictions])
    dpvar = np.array([error_of(each)[0] for each in DPVarEvaluator(reporting.attributes, seed).evidence(decided)])
    return {**class_figures(predictions, target, weight, threshold), "decision_dpvar": dpvar}


def seen_by_an_audit(
    name: str, prediction: Array, attributes: Attributes, interval: DPVarInterval, seed: int
) -> str | None:
    """Where an audit of one model of a front finds more than its interval there: all models of a front are measured
    with the same functions of A, an audit learns more of them from the model's own predictions, (row,).
    """
    plain = attributes if attributes.learnt is None else replace(attributes, learnt=None)
    audited = interval_across(plain, prediction, seed)
    if not audited.learnt or audited.cannot_tell or audited.share <= interval.share_high:
        return None
    return (
        f"An audit of the {name} sees more than this front: {audited.share:.1%} of the prediction's variance instead "
        f"of {interval.share:.1%}, by functions of the attributes that it learns from these predictions. Audit the "
        "model that you choose."
    )

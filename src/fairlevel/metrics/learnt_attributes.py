"""Attributes with functions of them that are learnt from the predictions to be measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairlevel.arrays import Array
from fairlevel.conditional_mean import LinearMean, RidgeMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.learnt import learnt_functions
from fairlevel.data.sensitive import is_one_profile
from fairlevel.metrics.choice import candidates_for, choices_for
from fairlevel.metrics.debiased import left_out
from fairlevel.metrics.interval import StandardisedPredictions
from fairlevel.metrics.no_disparity_test import p_value_of_no_disparity
from fairlevel.metrics.units import Units

_SURELY = 0.01  # p-value


@dataclass(frozen=True)
class LearntAttributes:
    """Attributes with learnt functions of them, and whether the functions of legitimate factors L follow all that L
    says about the predictions.
    """

    rows: Attributes
    follow_factors: bool = True

    @classmethod
    def of(
        cls, rows: Attributes, predictions: Array, seed: int, means: Sequence[LinearMean] | None = None
    ) -> LearntAttributes:
        """The functions of A that describe one of the predictions, (config, row), clearly better than the best smooth
        mean, which may be one of these means. Within legitimate factors L, functions of L come first, then functions of
        A and L together.
        """
        predictions, follow_factors = StandardisedPredictions.of(predictions, rows.counts).values, True
        if rows.learnt is not None or not len(predictions) or is_one_profile(rows.values):
            return cls(rows)
        if rows.factors is not None and rows.given is not None:
            residuals = _beyond_factors(rows, predictions)
            functions = _learnt(rows, rows.factors, predictions, residuals, seed)
            follow_factors = not functions.shape[1] and not _more_is_known(rows, rows.factors, predictions, seed)
            rows = replace(rows, given=np.hstack([rows.given, functions]))
        residuals = np.empty_like(predictions)
        for choice in choices_for(rows, predictions, seed, means):
            residuals[choice.configs] = choice.debiased.noise(predictions[choice.configs])
        functions = _learnt(rows, rows.columns, predictions, residuals, seed)
        return cls(replace(rows, learnt=functions) if functions.shape[1] else rows, follow_factors)


def with_learnt(rows: Attributes, prediction: Array, seed: int) -> Attributes:
    """The rows with what can be learnt of one prediction, (row,), for all that will be trained or measured on them; as
    they are where they have learnt functions already.
    """
    return LearntAttributes.of(rows, prediction[None], seed).rows


def _learnt(rows: Attributes, columns: Array, predictions: Array, residuals: Array, seed: int) -> Array:
    """Learnt from these columns of the rows, where they beat the mean that leaves the residuals, (config, row)."""
    pairs = zip(predictions, residuals, strict=True)
    return np.hstack([learnt_functions(*pair, columns, rows.counts, rows.groups, seed) for pair in pairs])


def _more_is_known(rows: Attributes, factors: Array, predictions: Array, seed: int) -> bool:
    """Whether L explains more of a prediction than its functions do: whether it differs across L beyond them."""
    across = Attributes(factors, rows.given, rows.row_weight, groups=rows.groups)
    candidates = candidates_for(across, seed)
    return any(p_value_of_no_disparity(prediction, candidates) < _SURELY for prediction in predictions)


def _beyond_factors(rows: Attributes, predictions: Array) -> Array:
    """What functions of L leave of each prediction, from fits without the row, or group: (config, row)."""
    only_factors = Attributes(np.empty((len(rows), 0)), rows.given, rows.row_weight, groups=rows.groups)
    smoother = RidgeMean().prepare(only_factors)
    beyond = smoother.beyond_nuisance(predictions)
    return left_out(beyond, smoother, np.empty(0), Units.of(rows), 1.0)

"""DPVar of any number of predictions on the same rows, with what an interval needs of each, and with functions of A
that are learnt from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fairlevel.arrays import Array
from fairlevel.conditional_mean import LinearMean, RidgeMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.learnt import learnt_functions
from fairlevel.data.sensitive import is_one_profile
from fairlevel.metrics.choice import candidates_for, choices_for
from fairlevel.metrics.debiased import left_out
from fairlevel.metrics.interval import DPVarInterval, Evidence, StandardisedPredictions, interval_of
from fairlevel.metrics.no_disparity_test import p_value_of_no_disparity
from fairlevel.metrics.units import Units
from fairlevel.threads import on_single_threads

Regressor = LinearMean | Sequence[LinearMean] | None
"""One conditional mean, or several that join the default choice, or that choice alone."""
_SURELY = 0.01  # p-value


@dataclass(frozen=True)
class DPVarEvaluator:
    """Each prediction is described by the suitable mean (averages of groups, splines, random features) with the
    smallest leave-one-out error, or by the given one. What depends on the attributes is computed once. For both errors
    and intervals of the same predictions, compute the evidence once and pass it to :func:`error_of` and
    :func:`interval_of`. Predictions are (config, row).
    """

    rows: Attributes
    seed: int
    regressor: Regressor = None

    def estimates(self, predictions: Array) -> Array:
        """Debiased DPVar of each prediction, (config,)."""
        standardised = StandardisedPredictions.of(predictions, self.rows.counts)
        estimates = np.zeros(len(predictions))
        for choice in choices_for(self.rows, standardised.values, self.seed, self.regressor):
            of_choice = choice.debiased.estimates(standardised.values[choice.configs])
            estimates[standardised.configs[choice.configs]] = of_choice * standardised.variance[choice.configs]
        return estimates

    def evidence(self, predictions: Array | Sequence[Array]) -> list[Evidence]:
        """What errors and intervals need, one entry per prediction."""
        standardised = StandardisedPredictions.of(predictions, self.rows.counts)
        evidence = [Evidence.of_constant() for _ in predictions]
        for choice in choices_for(self.rows, standardised.values, self.seed, self.regressor):
            debiased, values = choice.debiased, standardised.values[choice.configs]
            estimates, fitted, noise = debiased.estimates(values), debiased.fitted(values), debiased.noise(values)
            for number, config in enumerate(choice.configs):
                squares = fitted[number] ** 2
                parts = np.stack([noise[number] * fitted[number], squares, values[number] ** 2, np.ones_like(squares)])
                sums = debiased.units.sums((parts * standardised.row_weight).T)
                evidence[standardised.configs[config]] = Evidence(
                    variance=float(standardised.variance[config]),
                    estimate=float(estimates[number]),
                    fitted_variance=float(standardised.row_weight @ squares),
                    influence=sums.T @ sums,
                    degenerate=debiased.null_variance(debiased.scores(noise[number])),
                    test=partial(p_value_of_no_disparity, values[number], choice.candidates),
                    regressor=choice.in_words,
                    learnt=choice.candidate.learnt,
                    informative=debiased.informative,
                    spent=debiased.smoother.spent_on_factors,
                )
        return evidence

    def intervals(self, predictions: Array | Sequence[Array]) -> list[DPVarInterval]:
        """The 95 % interval of each prediction."""
        return on_single_threads(*(partial(interval_of, each) for each in self.evidence(predictions)))


def with_learnt(rows: Attributes, predictions: Array, seed: int, regressor: Regressor = None) -> Attributes:
    """The rows with the functions of A that describe one of the predictions, (row,) or (config, row), clearly better
    than the best smooth mean. They stay as they are where they have learnt functions already, and where one conditional
    mean was asked for.

    Within legitimate factors L, functions of L come first, then functions of A and L together; ``follow_factors`` says
    whether the functions of L follow all that L says about the predictions.
    """
    predictions = StandardisedPredictions.of(np.atleast_2d(predictions), rows.counts).values
    asked = isinstance(regressor, LinearMean)
    if asked or rows.learnt is not None or not len(predictions) or is_one_profile(rows.values):
        return rows
    if rows.factors is not None and rows.given is not None:
        functions = _learnt(rows, rows.factors, predictions, _beyond_factors(rows, predictions), seed)
        follow = not functions.shape[1] and not _more_is_known(rows, rows.factors, predictions, seed)
        rows = replace(rows, given=np.hstack([rows.given, functions]), follow_factors=follow)
    residuals = np.empty_like(predictions)
    for choice in choices_for(rows, predictions, seed, regressor):
        residuals[choice.configs] = choice.debiased.noise(predictions[choice.configs])
    functions = _learnt(rows, rows.columns, predictions, residuals, seed)
    return replace(rows, learnt=functions) if functions.shape[1] else rows


def _learnt(rows: Attributes, columns: Array, predictions: Array, residuals: Array, seed: int) -> Array:
    """Learnt from these columns of the rows, where they beat the mean that leaves the residuals, (config, row)."""
    pairs = zip(predictions, residuals, strict=True)
    return np.hstack([learnt_functions(*pair, columns, rows.counts, rows.groups, seed) for pair in pairs])


def _more_is_known(rows: Attributes, factors: Array, predictions: Array, seed: int) -> bool:
    """Whether L explains more of a prediction than its functions do: whether it differs across L beyond them."""
    candidates = candidates_for(Attributes(factors, rows.given, rows.row_weight, groups=rows.groups), seed)
    return any(p_value_of_no_disparity(prediction, candidates) < _SURELY for prediction in predictions)


def _beyond_factors(rows: Attributes, predictions: Array) -> Array:
    """What functions of L leave of each prediction, from fits without the row, or group: (config, row)."""
    only_factors = Attributes(np.empty((len(rows), 0)), rows.given, rows.row_weight, groups=rows.groups)
    smoother = RidgeMean().prepare(only_factors)
    return left_out(smoother.beyond_nuisance(predictions), smoother, np.empty(0), Units.of(rows), 1.0)

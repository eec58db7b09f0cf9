"""Which conditional mean describes a prediction best: a discrete super learner over linear means and ridges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean import GroupMean, LinearMean, RandomFeaturesMean, SplineMean
from fairlevel.conditional_mean.attributes import Attributes, digest
from fairlevel.conditional_mean.groups import discrete_columns, few_categories
from fairlevel.conditional_mean.smoother import RIDGES, LinearSmoother
from fairlevel.metrics.debiased import Debiased, cross_validated_ridge, leave_out_errors
from fairlevel.metrics.units import Units

PARSIMONY = 2.0
"""The price of a degree of freedom. Choice and estimate use the same rows: at 1, noise that was fitted would look like
DPVar where there is none."""
CLEARLY = 3.0  # standard errors by chance


@dataclass(frozen=True)
class Candidate:
    """A conditional mean, its smoother for some rows, which of them are independent, and how many of its functions of A
    are learnt.
    """

    mean: LinearMean
    smoother: LinearSmoother
    units: Units
    learnt: int = 0

    @property
    def ridges(self) -> Array:
        """The ridges to choose from, the largest first."""
        return RIDGES[::-1] if self.mean.ridge is None else np.array([self.mean.ridge], dtype=np.float64)

    def errors(self, prediction: Array) -> Array:
        """The leave-one-out error of each ridge, with a price for degrees of freedom, (config, ridge)."""
        return leave_out_errors(prediction, self.smoother, self.units, self.ridges, PARSIMONY)

    def in_words(self, ridge: float) -> str:
        """The mean with its ridge and what that leaves of it."""
        penalty = f"ridge {ridge:.3g}" if np.isfinite(ridge) else "unpenalised functions only"
        words = f"{self.mean.name} ({penalty}, {float(self.smoother.df(ridge)):.1f} degrees of freedom)"
        if not self.learnt:
            return words
        return f"{words}, with {self.learnt} function{'s' if self.learnt > 1 else ''} learnt from the prediction"


@dataclass(frozen=True)
class Choice:
    """A candidate, the estimate with the chosen ridge, the numbers of the predictions that these were chosen for,
    (config,), and all candidates.
    """

    candidate: Candidate
    debiased: Debiased
    configs: Index
    candidates: Sequence[Candidate]

    @classmethod
    def of(cls, candidates: Sequence[Candidate], number: int, ridge: float, configs: Index) -> Choice:
        candidate = candidates[number]
        return cls(candidate, Debiased(candidate.smoother, ridge, candidate.units), configs, candidates)

    @property
    def in_words(self) -> str:
        return self.candidate.in_words(self.debiased.ridge)


def candidates_for(
    rows: Attributes, seed: int, regressor: LinearMean | Sequence[LinearMean] | None = None
) -> tuple[Candidate, ...]:
    """Groups for discrete attributes; splines and random features where any attribute is continuous. One given mean is
    the only one; several join these.
    """
    units = Units.of(rows)
    means = (regressor,) if isinstance(regressor, LinearMean) else (*suitable_means(rows.columns), *(regressor or ()))
    learnt = 0 if rows.learnt is None else rows.learnt.shape[1]
    return tuple(
        Candidate(mean, mean.prepare(rows, seed=seed), units, learnt * mean.joined_by_learnt) for mean in means
    )


def suitable_means(sensitive: Array) -> tuple[LinearMean, ...]:
    """The means for these attributes, (row, attribute). The last one finds differences of any smooth shape, or, where
    every attribute has few values, of any shape. Constant columns say nothing.
    """
    varying = sensitive[:, np.ptp(sensitive, axis=0) > 0]
    if few_categories(varying).all():
        return (GroupMean(),)
    groups = (GroupMean(),) if discrete_columns(varying).any() else ()
    return (*groups, SplineMean(), RandomFeaturesMean())


def choose(prediction: Array, candidates: Sequence[Candidate]) -> list[Choice]:
    """The candidate and the ridge with the smallest leave-one-out error for each prediction, (config, row); predictions
    with the same choice stand together. Between ridges parsimony decides, between candidates the error alone, unless
    another one shows clearly more DPVar: many degrees of freedom may cost more than they explain.
    """
    configs = np.arange(len(prediction))
    ridges = np.empty((len(candidates), len(prediction)))
    errors = np.empty_like(ridges)
    for number, candidate in enumerate(candidates):
        ridges[number] = candidate.ridges[candidate.errors(prediction).argmin(axis=1)]
        used, column = np.unique(ridges[number], return_inverse=True)
        alone = leave_out_errors(prediction, candidate.smoother, candidate.units, used, cost=1.0)
        errors[number] = alone[configs, column.ravel()]
    best = _with_clearly_more(prediction, candidates, ridges, errors.argmin(axis=0))
    together: dict[tuple[int, float], list[int]] = {}
    for config, number in enumerate(best.tolist()):
        together.setdefault((number, float(ridges[number, config])), []).append(config)
    return [Choice.of(candidates, *chosen, np.array(same)) for chosen, same in together.items()]


def choices_for(
    rows: Attributes, predictions: Array, seed: int, regressor: LinearMean | Sequence[LinearMean] | None = None
) -> list[Choice]:
    """The choice for predictions on these rows, (config, row); asked again, the rows know it."""
    if not len(predictions):
        return []
    means = regressor if regressor is None or isinstance(regressor, LinearMean) else tuple(regressor)
    key = ("choices", seed, means, digest(predictions))
    return rows.once(key, lambda: choose(predictions, candidates_for(rows, seed, means)))


def _with_clearly_more(prediction: Array, candidates: Sequence[Candidate], ridges: Array, best: Array) -> Array:
    """The candidate of the smallest error, (config,), or one that shows clearly more DPVar."""
    if len(candidates) == 1:
        return best
    debiased = cache(lambda number, ridge: Debiased(candidates[number].smoother, ridge, candidates[number].units))
    result = best.copy()
    for config, first in enumerate(best):
        values = prediction[config][None]
        estimators = [debiased(number, ridge) for number, ridge in enumerate(ridges[:, config].tolist())]
        more = np.array([each.estimates(values)[0] for each in estimators])
        more -= more[first]
        square = float(values[0] ** 2 @ estimators[0].smoother.row_weight)
        for number in np.argsort(-more):  # the error that allows for unequal noise is asked for where it may decide
            estimator = estimators[number]
            if more[number] <= CLEARLY * estimator.chance * square:
                break
            if estimator.noise_is_known and more[number] > CLEARLY * estimator.error_by_chance(values):
                result[config] = number
                break
    return result


def shared_choice(predictions: Array, candidates: Sequence[Candidate]) -> Choice:
    """The choice with the smallest sum of errors, each relative to the variance of its prediction."""
    variance = np.maximum(np.square(predictions) @ candidates[0].smoother.row_weight, 1e-24)[:, None]
    totals = [(each.errors(predictions) / variance).sum(axis=0) for each in candidates]
    number = int(np.argmin([each.min() for each in totals]))
    ridge = float(candidates[number].ridges[totals[number].argmin()])
    return Choice.of(candidates, number, ridge, np.arange(len(predictions)))


def tuned_mean(mean: LinearMean, attributes: Attributes, target: Array, seed: int) -> LinearMean:
    """The mean with the ridge that it leaves open: the one that cross-validates best for the target, (row,), on A; with
    groups, on groups that are left out.

    The target stands for the predictions. Training cannot choose this number, so it cannot hide disparity behind it.
    """
    if mean.ridge is not None:
        return mean
    values = (target - attributes.weight @ target)[None]
    (ridge,) = cross_validated_ridge(values, mean.prepare(attributes, seed=seed), Units.of(attributes)).tolist()
    chosen: Any = replace(mean, ridge=ridge)
    return chosen  # type: ignore[no-any-return]

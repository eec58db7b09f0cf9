"""Candidates on selection rows, which did not train them, and how their proportions are set there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.estimators.selection_budget import SelectionBudget
from fairlevel.fronts.combiners import CandidateChoice, Combiner
from fairlevel.metrics.evaluator import with_learnt
from fairlevel.metrics.mixtures import SharedMean, most_accurate, shared_mean
from fairlevel.threads import numpy_on_one_thread, on_single_threads


@dataclass(frozen=True)
class EvaluatedRows:
    """Predictions of the candidates on selection rows; y has mean 0 and variance 1.

    Parameters
    ----------
    predictions : (candidate, row), by candidates that these rows did not train
    target : (row,)
    attributes : of the rows
    fold : (row,); :meth:`cross_fitted` sets the proportions for a fold on the other folds
    mean : the conditional mean, with its ridge, of all candidates
    combiner : how proportions are set
    seed : of functions of A that are drawn
    chance_errors : how many standard errors of the DPVar that arises by chance are added to the DPVar of a mixture
        when proportions are set
    """

    predictions: Array
    target: Array
    attributes: Attributes
    fold: Index
    mean: SharedMean
    combiner: Combiner
    seed: int
    chance_errors: float
    _choices: dict[int, CandidateChoice] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        predictions: Array,
        target: Array,
        attributes: Attributes,
        fold: Index,
        combiner: Combiner,
        seed: int,
        chance_errors: float = 0.0,
    ) -> EvaluatedRows:
        """With one conditional mean for all candidates: the one that describes the most accurate of them best."""
        accurate = most_accurate(predictions, target, attributes.weight)
        kept = with_learnt(attributes, accurate, seed)
        mean = shared_mean(accurate, kept, seed)
        return cls(predictions, target, kept, fold, mean, combiner, seed, chance_errors)

    @cached_property
    def choice(self) -> CandidateChoice:
        """The choice of proportions on all selection rows; it sets the proportions of the models that are returned."""
        return self._choice_on(np.arange(len(self.target)))

    def cross_fitted(self, budgets: Sequence[SelectionBudget]) -> Array:
        """Predictions at each budget, the proportions for a fold set on the other folds: (budget, row)."""
        result = np.empty((len(budgets), len(self.target)))

        def fill(number: int) -> None:
            choice, inside = self._choice_without(number), np.flatnonzero(self.fold == number)
            proportions = np.stack([budget.mixture(choice).proportions for budget in budgets])
            result[:, inside] = proportions @ self.predictions[:, inside]

        with numpy_on_one_thread():
            on_single_threads(*(partial(fill, number) for number in np.unique(self.fold).tolist()))
        return result

    def _choice_without(self, number: int) -> CandidateChoice:
        """The choice of proportions without a fold; made once for budgets on DPVar and on shares."""
        if number not in self._choices:
            self._choices[number] = self._choice_on(np.flatnonzero(self.fold != number))
        return self._choices[number]

    def _choice_on(self, rows: Index) -> CandidateChoice:
        """The choice of proportions on some rows, (some row,)."""
        predictions, attributes = self.predictions[:, rows], self.attributes.take(rows)
        disparity = self.mean.disparity(predictions, attributes, self.seed)
        if self.chance_errors > 0:
            centred = predictions - (predictions @ attributes.weight)[:, None]
            by_chance = self.chance_errors * self.mean.chance(attributes, self.seed)  # for a variance of 1
            disparity += by_chance * (centred * attributes.weight) @ centred.T
        return self.combiner.over(predictions, self.target[rows], attributes.weight, disparity)

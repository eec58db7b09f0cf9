"""Candidates judged on rows they have not seen, and what a budget on those rows comes to on others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.fronts.combiners import Choosing, Combiner
from fairlevel.fronts.stacking import Mixture, OutOfReach, without_small_shares
from fairlevel.metrics.mixtures import SharedMean

POINTS = 12  # of a front
MARGIN = 0.5  # standard errors by which a budget is tightened


@dataclass(frozen=True)
class JudgedRows:
    """Candidates on selection rows, in standard deviations of y.

    Shapes: predictions (candidate, row), target (row,), sensitive (row, attribute), fold (row,): the shares for the
    rows of a fold are set on the other rows.
    """

    predictions: Array
    target: Array
    sensitive: Array
    fold: Index
    mean: SharedMean
    combiner: Combiner
    seed: int

    @cached_property
    def choosing(self) -> Choosing:
        """All selection rows together: they set the shares of the models that are kept."""
        return self._choosing_on(np.arange(len(self.target)))

    def unseen(self, budgets: Array) -> Array:
        """Predictions of the choices at several budgets, each row by shares that were set without it: (budget, row)."""
        result = np.empty((len(budgets), len(self.target)))
        for number in np.unique(self.fold):
            inside, outside = np.flatnonzero(self.fold == number), np.flatnonzero(self.fold != number)
            choosing = self._choosing_on(outside)
            shares = np.stack([nearest(choosing, budget).shares for budget in budgets])
            result[:, inside] = shares @ self.predictions[:, inside]
        return result

    def _choosing_on(self, rows: Index) -> Choosing:
        predictions = self.predictions[:, rows]
        disparity = self.mean.disparity(predictions, self.sensitive[rows], self.seed)
        return self.combiner.over(predictions, self.target[rows], disparity)


@dataclass(frozen=True)
class Calibration:
    """What budgets on selection rows come to on rows that set no shares, in squared standard deviations of y.

    Shapes, each (point,): budget on selection rows, ascending; on unseen rows the DPVar, its standard error, and the
    variance of the prediction.
    """

    budget: Array
    dpvar: Array
    error: Array
    variance: Array

    @property
    def cautious(self) -> Array:
        """DPVar with a margin for its own uncertainty, (point,)."""
        return self.dpvar + MARGIN * self.error

    def budget_for(self, most: float, figure: Array) -> float:
        """The largest budget on selection rows whose figure (point,) stays within ``most``, or OutOfReach."""
        rising = np.maximum.accumulate(figure)
        if rising[0] > most:
            raise OutOfReach(most, float(rising[0]))
        return float(np.interp(most, rising, self.budget)) if rising[-1] > most else float(self.budget[-1])


def points_of_front(choosing: Choosing) -> Array:
    """Budgets on selection rows from the least DPVar that can be reached to that of the most accurate choice."""
    free = choosing.within(np.inf).dpvar
    low = min(max(choosing.smallest, 1e-6), free)
    budgets: Array = np.linspace(np.sqrt(low), np.sqrt(free), POINTS) ** 2
    return budgets


def nearest(choosing: Choosing, budget: float) -> Mixture:
    """The choice within a budget, or the one with the least DPVar where the budget is out of reach."""
    return choosing.within(max(budget, choosing.smallest * (1 + 1e-4) + 1e-12))


def pruned(choosing: Choosing, budget: float) -> Mixture:
    """The same without negligible shares, with its figures."""
    return choosing.figures(without_small_shares(nearest(choosing, budget).shares))

"""Mixtures of candidates chosen on selection rows, and their DPVar on rows that did not set their shares."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.fronts.combiners import Choosing, Combiner
from fairlevel.fronts.stacking import Mixture, OutOfReach, without_small_shares
from fairlevel.metrics.mixtures import SharedMean

POINTS = 12  # of a front
MARGIN = 0.5  # standard errors added to DPVar before it is compared with a budget


@dataclass(frozen=True)
class JudgedRows:
    """Predictions of the candidates on selection rows, which did not train them; y has mean 0 and variance 1.

    Shapes: predictions (candidate, row), target (row,), sensitive (row, attribute), fold (row,): :meth:`cross_fitted`
    sets the shares for a fold on the other folds. ``mean`` is the conditional mean, with its ridge, of all candidates.
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
        """The choice of shares on all selection rows; it sets the shares of the models that are returned."""
        return self._choosing_on(np.arange(len(self.target)))

    def cross_fitted(self, budgets: Array) -> Array:
        """Predictions at each budget, the shares for a fold set on the other folds: (budget,) -> (budget, row)."""
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
    """How a DPVar budget on selection rows turns out under cross-fitting, as a share of Var(y).

    Shapes, each (point,): budget, ascending; of the cross-fitted predictions the DPVar, its standard error upwards, and
    their variance.
    """

    budget: Array
    dpvar: Array
    error: Array
    variance: Array

    @property
    def dpvar_with_margin(self) -> Array:
        """DPVar + ``MARGIN`` standard errors, (point,)."""
        return self.dpvar + MARGIN * self.error

    @property
    def share_with_margin(self) -> Array:
        """The same as a share of the predictions' variance, (point,); a constant prediction has no disparity."""
        return np.divide(self.dpvar_with_margin, self.variance, out=np.zeros_like(self.dpvar), where=self.variance > 0)

    def largest_budget(self, limit: float, measured: Array) -> float:
        """The largest selection budget, interpolated, at which the running maximum of ``measured`` (point,) is at most
        ``limit``; raises :class:`OutOfReach` if the first point exceeds it.
        """
        rising = np.maximum.accumulate(measured)
        if rising[0] > limit:
            raise OutOfReach(limit, float(rising[0]))
        return float(np.interp(limit, rising, self.budget)) if rising[-1] > limit else float(self.budget[-1])


def points_of_front(choosing: Choosing) -> Array:
    """``POINTS`` budgets, evenly spaced in √DPVar, from the smallest reachable DPVar (at least 1e-6) to that of the
    most accurate choice.
    """
    unconstrained = choosing.within(np.inf).dpvar
    low = min(max(choosing.smallest, 1e-6), unconstrained)
    budgets: Array = np.linspace(np.sqrt(low), np.sqrt(unconstrained), POINTS) ** 2
    return budgets


def nearest(choosing: Choosing, budget: float) -> Mixture:
    """The most accurate choice within a budget; a budget that is too small is raised to just above the smallest
    reachable DPVar.
    """
    return choosing.within(max(budget, choosing.smallest * (1 + 1e-4) + 1e-12))


def pruned(choosing: Choosing, budget: float) -> Mixture:
    """:func:`nearest` without shares below 0.001, with MSE and DPVar computed again."""
    return choosing.figures(without_small_shares(nearest(choosing, budget).shares))

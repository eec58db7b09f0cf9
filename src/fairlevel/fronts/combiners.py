"""Two ways to get a model from candidates: take the best one, or mix them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from fairlevel.arrays import Array, Flags
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.stacking import DPVAR, SHARE, Mixing, Mixture, OutOfReach


class CandidateChoice(Protocol):
    """Candidates measured on some rows, from which a model can be chosen for any budget."""

    @property
    def smallest(self) -> float:
        """The smallest DPVar that can be reached."""

    def within(self, budget: float) -> Mixture:
        """The most accurate choice with DPVar ≤ budget; raises :class:`OutOfReach` if there is none."""

    @property
    def smallest_share(self) -> float:
        """The smallest share of the variance that can be reached."""

    def within_share(self, share: float) -> Mixture:
        """The most accurate choice with DPVar ≤ share · variance; raises :class:`OutOfReach` if there is none."""

    def share(self, mixture: Mixture) -> float:
        """DPVar of a choice as a share of its variance."""

    def figures(self, proportions: Array) -> Mixture:
        """MSE and DPVar of given proportions, (candidate,)."""


@runtime_checkable
class Combiner(Protocol):
    """How a model is made from candidates."""

    def over(self, predictions: Array, target: Array, weight: Array, disparity: Array) -> CandidateChoice:
        """Measure candidates: predictions (candidate, row), target (row,), weights of the rows that sum to 1, (row,),
        and disparity K (candidate, candidate), with which DPVar of the mixture with proportions w is wᵀKw.
        """


@dataclass(frozen=True)
class Stacked:
    """Mixtures of candidates, by the convex programme of :mod:`fairlevel.fronts.stacking`."""

    ridge: float = 1e-3

    def __post_init__(self) -> None:
        if not 0 <= self.ridge < np.inf:
            raise InvalidInput(f"ridge={self.ridge} was given; a finite number ≥ 0 is needed, such as 0.001.")

    def over(self, predictions: Array, target: Array, weight: Array, disparity: Array) -> Mixing:
        return Mixing.of(predictions, target, weight, disparity, self.ridge)


@dataclass(frozen=True)
class Best:
    """Single candidates, without mixing."""

    def over(self, predictions: Array, target: Array, weight: Array, disparity: Array) -> Picking:
        variance = (predictions - (predictions @ weight)[:, None]) ** 2 @ weight
        return Picking((predictions - target) ** 2 @ weight, np.diag(disparity).clip(min=0), variance)


@dataclass(frozen=True)
class Picking:
    """Error, disparity and variance of single candidates, each (candidate,)."""

    mse: Array
    dpvar: Array
    variance: Array

    @cached_property
    def smallest(self) -> float:
        return float(self.dpvar.min())

    @cached_property
    def shares(self) -> Array:
        """DPVar as a share of the variance, (candidate,); 0 for a constant."""
        return np.divide(self.dpvar, self.variance, out=np.zeros_like(self.dpvar), where=self.variance > 1e-12)

    @cached_property
    def smallest_share(self) -> float:
        return float(self.shares.min())

    def within(self, budget: float) -> Mixture:
        return self._best(self.dpvar <= budget, DPVAR, budget, self.smallest)

    def within_share(self, share: float) -> Mixture:
        return self._best(self.shares <= share, SHARE, share, self.smallest_share)

    def share(self, mixture: Mixture) -> float:
        return float(self.shares[int(mixture.proportions.argmax())])

    def _best(self, allowed: Flags, quantity: str, limit: float, smallest: float) -> Mixture:
        if not allowed.any():
            raise OutOfReach(quantity, limit, smallest)
        proportions = np.zeros(len(self.mse))
        proportions[int(np.where(allowed, self.mse, np.inf).argmin())] = 1.0
        return self.figures(proportions)

    def figures(self, proportions: Array) -> Mixture:
        best = int(proportions.argmax())
        if proportions[best] != 1:
            raise ValueError("Single candidates are picked here; a mixture of several has other figures.")
        return Mixture(proportions, float(self.mse[best]), float(self.dpvar[best]), 0.0)

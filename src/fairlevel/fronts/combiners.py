"""Two ways to get a model from candidates: take the best one, or mix them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.stacking import Mixing, Mixture, OutOfReach


class Choosing(Protocol):
    """Candidates measured on some rows, from which a model can be chosen for any budget."""

    @property
    def smallest(self) -> float:
        """The smallest DPVar that can be reached."""

    def within(self, budget: float) -> Mixture:
        """The most accurate choice with DPVar ≤ budget; raises :class:`OutOfReach` if there is none."""

    def figures(self, shares: Array) -> Mixture:
        """MSE and DPVar of given shares, (candidate,)."""


@runtime_checkable
class Combiner(Protocol):
    """How a model is made from candidates."""

    def over(self, predictions: Array, target: Array, disparity: Array) -> Choosing:
        """Measure candidates: predictions (candidate, row), target (row,), and disparity K (candidate, candidate), with
        which DPVar of the mixture with shares w is wᵀKw.
        """


@dataclass(frozen=True)
class Stacked:
    """Mixtures of candidates, by the convex programme of :mod:`fairlevel.fronts.stacking`."""

    ridge: float = 1e-3

    def __post_init__(self) -> None:
        if not 0 <= self.ridge < np.inf:
            raise InvalidInput(f"ridge={self.ridge} was given; a finite number ≥ 0 is needed, such as 0.001.")

    def over(self, predictions: Array, target: Array, disparity: Array) -> Mixing:
        return Mixing.of(predictions, target, disparity, self.ridge)


@dataclass(frozen=True)
class Best:
    """Single candidates, without mixing."""

    def over(self, predictions: Array, target: Array, disparity: Array) -> Picking:
        return Picking(((predictions - target) ** 2).mean(axis=1), np.diag(disparity).clip(min=0))


@dataclass(frozen=True)
class Picking:
    """Error and disparity of single candidates: mse and dpvar (candidate,)."""

    mse: Array
    dpvar: Array

    @cached_property
    def smallest(self) -> float:
        return float(self.dpvar.min())

    def within(self, budget: float) -> Mixture:
        allowed = np.where(self.dpvar <= budget, self.mse, np.inf)
        best = int(allowed.argmin())
        if not np.isfinite(allowed[best]):
            raise OutOfReach(budget, self.smallest)
        shares = np.zeros(len(self.mse))
        shares[best] = 1.0
        return self.figures(shares)

    def figures(self, shares: Array) -> Mixture:
        best = int(shares.argmax())
        return Mixture(shares, float(self.mse[best]), float(self.dpvar[best]), 0.0)

"""DPVar of mixtures of predictions: one smoother for all of them makes it a quadratic form."""

from __future__ import annotations

from typing import NamedTuple

from fairlevel.arrays import Array
from fairlevel.conditional_mean import LinearMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics.choice import choices_for
from fairlevel.metrics.debiased import Debiased
from fairlevel.metrics.units import Units


class SharedMean(NamedTuple):
    """The conditional mean that stands for all predictions, and its ridge."""

    mean: LinearMean
    ridge: float

    def disparity(self, predictions: Array, attributes: Attributes, seed: int) -> Array:
        """K with DPVar(wᵀF) = wᵀ K w, debiased; (candidate, row) -> (candidate, candidate)."""
        return self._on(attributes, seed).matrix(predictions)

    def chance(self, attributes: Attributes, seed: int) -> float:
        """The standard error of DPVar by chance: that of a prediction of variance 1 which has none."""
        return self._on(attributes, seed).chance

    def fitted(self, predictions: Array, attributes: Attributes, seed: int) -> Array:
        """E[f | A] at the rows themselves, (candidate, row) -> (candidate, row)."""
        return self.mean.prepare(attributes, seed=seed).apply(predictions, self.ridge)

    def _on(self, attributes: Attributes, seed: int) -> Debiased:
        return Debiased(self.mean.prepare(attributes, seed=seed), self.ridge, Units.of(attributes))


def most_accurate(predictions: Array, target: Array, row_weight: Array) -> Array:
    """The prediction with the smallest error: (candidate, row), (row,), (row,) -> (row,)."""
    accurate: Array = predictions[((predictions - target) ** 2 @ row_weight).argmin()]
    return accurate


def shared_mean(prediction: Array, attributes: Attributes, seed: int) -> SharedMean:
    """The mean and the ridge that describe a prediction best, (row,)."""
    (choice,) = choices_for(attributes, (prediction - attributes.weight @ prediction)[None], seed)
    return SharedMean(choice.candidate.mean, choice.debiased.ridge)

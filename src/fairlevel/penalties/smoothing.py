"""A factored smoother for penalties: two thin products a step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from fairlevel.arrays import AnyArray, namespace
from fairlevel.conditional_mean.smoother import HIGH_LEVERAGE, LinearSmoother
from fairlevel.penalties.protocol import Prepared


@dataclass(frozen=True)
class PenaltySmoother(Prepared):
    """The functions B of a :class:`LinearSmoother` at its rows, written out, wherever predictions are, and d, by how
    much a ridge shrinks each of them.

    Shapes: nuisance functions (row, nuisance), functions of A (row, function), shrinkage (function,), row_weight
    (row,); predictions (config, row).
    """

    nuisance: AnyArray
    functions: AnyArray
    shrinkage: AnyArray
    row_weight: AnyArray

    within_factors: ClassVar[bool] = True

    @classmethod
    def of(cls, smoother: LinearSmoother, ridge: float) -> PenaltySmoother:
        functions = smoother.functions.written_out()
        return cls(smoother.nuisance, functions, smoother.shrinkage(ridge), smoother.row_weight)

    @cached_property
    def leverage(self) -> AnyArray:
        """S_ii, at most 0.9, (row,)."""
        leverage = (self.nuisance**2).sum(-1) + self.functions**2 @ self.shrinkage
        return namespace(leverage).clip(leverage * self.row_weight, max=HIGH_LEVERAGE)

    def coefficients(self, prediction: AnyArray) -> AnyArray:
        """c = BᵀWf: (config, row) -> (config, function)."""
        return (prediction * self.row_weight) @ self.functions

    def beyond_nuisance(self, prediction: AnyArray) -> AnyArray:
        """f less its projection on the nuisance functions, (config, row); by default f less its weighted mean."""
        return prediction - ((prediction * self.row_weight) @ self.nuisance) @ self.nuisance.T

    def smoothed(self, centred: AnyArray) -> AnyArray:
        """What functions of A explain of predictions beyond the nuisance functions, (config, row) -> (config, row)."""
        return (self.coefficients(centred) * self.shrinkage) @ self.functions.T

    def apply(self, prediction: AnyArray) -> AnyArray:
        """h = S f: (config, row) -> (config, row)."""
        centred = self.beyond_nuisance(prediction)
        return prediction - centred + self.smoothed(centred)

    def leave_out_covariance(self, prediction: AnyArray) -> AnyArray:
        r"""Covariance of each prediction with its leave-one-out mean, beyond the nuisance functions: (config, row) ->
        (config,).

        .. math:: \sum_i w_i \tilde f_i \Big(\tilde f_i - \frac{\tilde f_i - (S \tilde f)_i}{1 - S_{ii}}\Big)

        It keeps the shrinkage of S, unlike the debiased DPVar, so it is the held-out counterpart of a penalty with the
        same ridge. Leverages above 0.9 count as 0.9.
        """
        centred = self.beyond_nuisance(prediction)
        residual = (centred - self.smoothed(centred)) / (1 - self.leverage)
        return (centred * (centred - residual)) @ self.row_weight

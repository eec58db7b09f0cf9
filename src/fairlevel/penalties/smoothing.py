"""A factored smoother for penalties: two thin products a step."""

from __future__ import annotations

from dataclasses import dataclass

from fairlevel.arrays import AnyArray, device, namespace
from fairlevel.conditional_mean.smoother import HIGH_LEVERAGE, LinearSmoother
from fairlevel.penalties.toolkit import Prepared


@dataclass(frozen=True)
class PenaltySmoother(Prepared):
    """The functions of a :class:`LinearSmoother` at its rows, written out, wherever predictions are.

    Shapes: nuisance functions (row, nuisance), functions of A (row, function), moments of the penalised ones (penalised
    function,), row_weight (row,); predictions (config, row).
    """

    nuisance: AnyArray
    functions: AnyArray
    moments: AnyArray
    row_weight: AnyArray

    @classmethod
    def of(cls, smoother: LinearSmoother) -> PenaltySmoother:
        return cls(smoother.nuisance, smoother.functions.written_out(), smoother.moments, smoother.row_weight)

    def coefficients(self, prediction: AnyArray) -> AnyArray:
        """c = BᵀWf: (config, row) -> (config, function)."""
        return (prediction * self.row_weight) @ self.functions

    def combined(self, coefficients: AnyArray) -> AnyArray:
        """W B c: (config, function) -> (config, row)."""
        return (coefficients @ self.functions.T) * self.row_weight

    def shrinkage(self, ridge: AnyArray) -> AnyArray:
        """d_j for each ridge, 1 or s_j / (s_j + λ): (config,) -> (config, function)."""
        xp = namespace(self.moments)
        penalised = self.moments / (self.moments + ridge[:, None])
        free = (penalised.shape[0], self.functions.shape[1] - penalised.shape[1])
        return xp.concat([xp.ones(free, dtype=penalised.dtype, device=device(penalised)), penalised], axis=-1)

    def beyond_nuisance(self, prediction: AnyArray) -> AnyArray:
        """f less its projection on the nuisance functions, (config, row); by default f less its weighted mean."""
        return prediction - ((prediction * self.row_weight) @ self.nuisance) @ self.nuisance.T

    def smoothed(self, centred: AnyArray, ridge: AnyArray) -> AnyArray:
        """What functions of A explain of predictions beyond the nuisance functions, (config, row) -> (config, row)."""
        return (self.coefficients(centred) * self.shrinkage(ridge)) @ self.functions.T

    def apply(self, prediction: AnyArray, ridge: AnyArray) -> AnyArray:
        """h = S f: (config, row) -> (config, row)."""
        centred = self.beyond_nuisance(prediction)
        return prediction - centred + self.smoothed(centred, ridge)

    def leave_out_covariance(self, prediction: AnyArray, ridge: AnyArray) -> AnyArray:
        r"""Covariance of each prediction with its leave-one-out mean, beyond the nuisance functions: (config, row),
        (config,) -> (config,).

        .. math:: \sum_i w_i \tilde f_i \Big(\tilde f_i - \frac{\tilde f_i - (S \tilde f)_i}{1 - S_{ii}}\Big)

        It keeps the shrinkage of S, unlike the debiased DPVar, so it is the held-out counterpart of a penalty with the
        same ridge. Leverages above 0.9 count as 0.9.
        """
        leverage = (self.nuisance**2).sum(-1) + self.shrinkage(ridge) @ (self.functions**2).T
        left = 1 - namespace(leverage).clip(leverage * self.row_weight, max=HIGH_LEVERAGE)
        centred = self.beyond_nuisance(prediction)
        residual = (centred - self.smoothed(centred, ridge)) / left
        return (centred * (centred - residual)) @ self.row_weight

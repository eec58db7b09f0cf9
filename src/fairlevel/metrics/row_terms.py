"""What some rows add to the sums behind an estimate, its interval and its test, where all rows are never in memory.

The formulas are those of :mod:`fairlevel.metrics.leave_one_out`, :mod:`fairlevel.metrics.evidence` and
:mod:`fairlevel.metrics.no_disparity_test`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fairlevel.conditional_mean.linear_algebra import scatter_matrix
from fairlevel.metrics.evidence import influence_parts
from fairlevel.metrics.leave_one_out import Leverage, factor_leverage, nuisance_left_out

Sums = dict[str, Tensor]
"""Sums over some rows by name."""


@dataclass(frozen=True)
class FunctionsAtRows:
    """The functions of A for one prediction at some rows.

    Parameters
    ----------
    nuisance : the nuisance functions, (row, nuisance)
    fitted : ĥ beyond the nuisance functions, (row,)
    basis : the functions beyond them, (row, function); perhaps in 32 bits
    own_weight : the leverage S_ii, (row,)
    diagonal : Q_ii of the debiased form, (row,)
    """

    nuisance: Tensor
    fitted: Tensor
    basis: Tensor
    own_weight: Tensor
    diagonal: Tensor

    def terms(self, prediction: Tensor, coefficients: Tensor, weight: Tensor) -> Sums:
        """What a standardised prediction (row,) adds to each sum. Shapes: coefficients of the nuisance functions
        (nuisance,), weights of the rows as shares of all rows (row,).

        - "noise" (5,): what is subtracted from the plug-in, see :class:`fairlevel.metrics.leave_one_out.NoiseSums`
        - "others" (3,): what functions of L fit by chance; Σ w ĥ²; Σ (w r² Q_ii)², the rows' own part of tr(qKqK)
        - "influence" (4, 4): see :class:`fairlevel.metrics.evidence.Evidence`
        - "residual" (function, function): the covariance K of coefficients, from residuals r
        """
        centred = self._centred(prediction, coefficients)
        leverage = Leverage.of(self.own_weight, weight)
        of_factors, left_of_factors = factor_leverage(self.nuisance, weight, leverage)
        error_of_factors, error = centred / left_of_factors, (centred - self.fitted) / leverage.left_out
        residual = (centred - self.fitted) / leverage.left_out.sqrt()
        influence = influence_parts(prediction, self.fitted, residual) * weight.unsqueeze(1)
        return {
            "noise": leverage.noise_sums(self.diagonal, centred, self.fitted).stacked,
            "others": torch.stack(
                [
                    (of_factors * error_of_factors * (error_of_factors - error)).sum(),
                    (weight * self.fitted.square()).sum(),
                    (weight * self.diagonal * residual.square()).square().sum(),
                ]
            ),
            "influence": influence.T @ influence,
            "residual": self._scatter(weight * residual),
        }

    def null_covariance(self, prediction: Tensor, coefficients: Tensor, weight: Tensor) -> Tensor:
        """What it adds to K of the test of DPVar = 0, (function, function)."""
        centred = self._centred(prediction, coefficients)
        return self._scatter(weight * centred / nuisance_left_out(self.nuisance, weight).sqrt())

    def _centred(self, prediction: Tensor, coefficients: Tensor) -> Tensor:
        """f̃, the prediction less its projection on the nuisance functions, (row,)."""
        return prediction - self.nuisance @ coefficients

    def _scatter(self, scale: Tensor) -> Tensor:
        """Σ_i s_i² b_i b_iᵀ, (function, function)."""
        return scatter_matrix(scale.to(self.basis.dtype), self.basis).double()

"""A factored smoother as tensors, for penalties."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from fairlevel.conditional_mean.smoother import HIGH_LEVERAGE, MANY_ROWS, LinearSmoother
from fairlevel.penalties.products import PaddedProducts, Products, StoredProducts
from fairlevel.tensors import to_device


@dataclass(frozen=True)
class TensorSmoother:
    """The functions of a :class:`LinearSmoother` at its rows, written out.

    Shapes: nuisance functions (row, nuisance), functions of A (row, function), moments of the penalised ones (penalised
    function,), row_weight (row,); predictions (config, row).
    """

    nuisance: Tensor
    functions: Tensor
    moments: Tensor
    row_weight: Tensor

    @classmethod
    def of(cls, smoother: LinearSmoother) -> TensorSmoother:
        functions, moments = torch.from_numpy(smoother.functions.written_out()), torch.from_numpy(smoother.moments)
        return cls(torch.from_numpy(smoother.nuisance), functions, moments, torch.from_numpy(smoother.row_weight))

    def to(self, dtype: torch.dtype, device: torch.device | str = "cpu") -> TensorSmoother:
        return to_device(self, dtype, device)

    @cached_property
    def products(self) -> Products:
        """Of the functions at the rows, as steps of training need them."""
        kind = StoredProducts if len(self.row_weight) > MANY_ROWS else PaddedProducts
        return kind(self.functions, self.row_weight)

    def shrinkage(self, ridge: Tensor | float) -> Tensor:
        """d_j for each ridge, 1 or s_j / (s_j + λ): (config,) -> (config, function)."""
        penalised = self.moments / (self.moments + torch.as_tensor(ridge).to(self.moments).unsqueeze(-1))
        free = self.functions.shape[1] - len(self.moments)
        return torch.cat([penalised.new_ones(*penalised.shape[:-1], free), penalised], dim=-1)

    def beyond_nuisance(self, prediction: Tensor) -> Tensor:
        """f less its projection on the nuisance functions, (config, row); by default f less its weighted mean."""
        result = prediction
        for function in self.nuisance.to(prediction).T:
            result = result - (prediction * (function * self.row_weight)).sum(dim=-1, keepdim=True) * function
        return result

    def smoothed(self, centred: Tensor, ridge: Tensor | float) -> Tensor:
        """What functions of A explain of predictions beyond the nuisance functions, (config, row) -> (config, row)."""
        functions = self.functions.to(centred)  # very many rows have functions in 32 bits
        return (((centred * self.row_weight) @ functions) * self.shrinkage(ridge).to(centred)) @ functions.T

    def apply(self, prediction: Tensor, ridge: Tensor | float) -> Tensor:
        """h = S f: (config, row) -> (config, row)."""
        centred = self.beyond_nuisance(prediction)
        return prediction - centred + self.smoothed(centred, ridge)

    def leave_out_covariance(self, prediction: Tensor, ridge: Tensor) -> Tensor:
        r"""Covariance of each prediction with its leave-one-out mean, beyond the nuisance functions: (config, row),
        (config,) -> (config,).

        .. math:: \sum_i w_i \tilde f_i \Big(\tilde f_i - \frac{\tilde f_i - (S \tilde f)_i}{1 - S_{ii}}\Big)

        It keeps the shrinkage of S, unlike the debiased DPVar, so it is the held-out counterpart of a penalty with the
        same ridge. Leverages above 0.9 count as 0.9.
        """
        leverage = self.nuisance.square().sum(dim=1) + self.shrinkage(ridge) @ self.functions.square().T
        left = 1 - (leverage * self.row_weight).clamp_max(HIGH_LEVERAGE)
        centred = self.beyond_nuisance(prediction)
        residual = (centred - self.smoothed(centred, ridge)) / left
        return (self.row_weight * centred * (centred - residual)).sum(dim=-1)

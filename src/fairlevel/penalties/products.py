"""The two products of every step of training: of functions with predictions, and of functions with coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from torch import Tensor
from torch.nn.functional import pad


class Products(Protocol):
    """Products of functions at rows of some weights; ``count`` functions, of which the last ones may be zeros."""

    @property
    def count(self) -> int: ...

    def coefficients(self, prediction: Tensor) -> Tensor:
        """BᵀWf: (config, row) -> (config, count)."""

    def combined(self, coefficients: Tensor) -> Tensor:
        """W B c: (config, count) -> (config, row)."""


@dataclass(frozen=True)
class PaddedProducts:
    """Many configurations at a time: functions are padded to a multiple of 32, because matrix products are fastest when
    rows start at such a boundary. Shapes: basis (row, function), row_weight (row,).
    """

    basis: Tensor
    row_weight: Tensor

    @property
    def count(self) -> int:
        return self.basis.shape[1] + -self.basis.shape[1] % 32

    @cached_property
    def _by_row(self) -> Tensor:
        """W B, (row, count)."""
        return pad(self.basis * self.row_weight.unsqueeze(1), (0, self.count - self.basis.shape[1]))

    @cached_property
    def _by_function(self) -> Tensor:
        """The transpose, stored contiguously, (count, row): products with a transposed view take four times as long."""
        padded = self.basis.new_zeros(self.count, len(self.basis))
        padded[: self.basis.shape[1]].copy_(self.basis.T).mul_(self.row_weight)  # one product takes five times as long
        return padded

    def coefficients(self, prediction: Tensor) -> Tensor:
        """One prediction reads the functions one after another, which takes a third less time and needs no second copy
        of them.
        """
        return prediction @ (self._by_function.T if len(prediction) == 1 else self._by_row)

    def combined(self, coefficients: Tensor) -> Tensor:
        return coefficients @ self._by_function


@dataclass(frozen=True)
class StoredProducts:
    """Functions of very many rows are read as they are, and not copied."""

    basis: Tensor
    row_weight: Tensor

    @property
    def count(self) -> int:
        return self.basis.shape[1]

    def coefficients(self, prediction: Tensor) -> Tensor:
        return (prediction * self.row_weight) @ self.basis

    def combined(self, coefficients: Tensor) -> Tensor:
        return (coefficients @ self.basis.T).mul_(self.row_weight)

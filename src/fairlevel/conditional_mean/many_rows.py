"""The smoother of very many rows in memory, of which no 64-bit features of all rows are made."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.blockwise import BlockwiseSmoother, Functions, parts
from fairlevel.conditional_mean.protocol import LinearMean
from fairlevel.conditional_mean.smoother import LinearSmoother

MANY_ROWS = 100_000
"""Above so many rows a smoother is factored from moments."""


@dataclass(frozen=True)
class ManyRows:
    """The factored smoother and the rows that it was fitted on."""

    rows: Attributes
    smoother: BlockwiseSmoother

    @classmethod
    def of(cls, mean: LinearMean, rows: Attributes, seed: int) -> ManyRows:
        """From the moments of the features; rows that were factored last are not factored again."""
        key = ("many rows", replace(mean, ridge=None), seed)
        return cls(rows, rows.once(key, lambda: _factored(mean, rows, seed)))

    def choose_ridge(self, target: Array) -> float:
        """The ridge with the smallest generalised cross-validation error; (row,)."""
        weight = self.rows.weight
        mean = float(weight @ target)
        products = torch.zeros_like(self.smoother.mean)
        for part in parts(len(self.rows)):
            weighted = torch.from_numpy(weight[part] * (target[part] - mean))
            products += weighted @ self.smoother.functions(_some(self.rows, part))
        coefficients = self.smoother.coefficients(products.unsqueeze(0))
        square = torch.tensor([float(weight @ (target - mean) ** 2)], dtype=torch.float64)
        return float(self.smoother.spectrum.choose_ridge(coefficients, square))

    def trimmed(self, ridge: float, least: float, dtype: torch.dtype = torch.float64) -> LinearSmoother:
        """:meth:`LinearSmoother.trimmed` of the smoother of all functions; the others are never made for all rows. The
        basis is stored in this type.
        """
        spectrum = self.smoother.spectrum
        penalised = spectrum.shrinkage(ridge)[spectrum.free :]
        return self._first(spectrum.free + int((penalised >= least * penalised[:1]).sum()), dtype)  # moments fall

    def whole(self) -> LinearSmoother:
        """With all functions."""
        return self._first(1 + self.smoother.transform.shape[1], torch.float64)

    def _first(self, kept: int, dtype: torch.dtype) -> LinearSmoother:
        spectrum = self.smoother.spectrum
        basis = torch.empty(len(self.rows), kept, dtype=dtype)
        for part in parts(len(self.rows)):
            basis[part] = self._basis(part)[:, :kept]
        weight = torch.from_numpy(self.rows.weight)
        return LinearSmoother(basis, basis, spectrum.moments[: kept - spectrum.free], weight, spectrum.nuisance)

    def _basis(self, part: slice) -> Tensor:
        return self.smoother.basis(self.smoother.functions(_some(self.rows, part)))


def _some(rows: Attributes, part: slice) -> Attributes:
    return rows.take(np.arange(part.start, part.stop))


def _factored(mean: LinearMean, rows: Attributes, seed: int) -> BlockwiseSmoother:
    functions, weight = Functions.of(mean, rows, seed), torch.from_numpy(rows.weight)
    first = torch.zeros_like(functions.shift)
    second = torch.zeros(len(first), len(first), dtype=torch.float64)
    for part in parts(len(rows)):
        features = functions(_some(rows, part))
        weighted = features * weight[part].unsqueeze(1)
        first += weighted.sum(dim=0)
        second.addmm_(weighted.T, features)
    return BlockwiseSmoother.of(functions, first, second, float(1 / weight.square().sum()))

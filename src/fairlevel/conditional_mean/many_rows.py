"""The smoother of very many rows in memory, of which no 64-bit features of all rows are made for training."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.basis import Basis
from fairlevel.conditional_mean.blockwise import BlockwiseSmoother, Functions, parts
from fairlevel.conditional_mean.linear_algebra import scatter_matrix
from fairlevel.conditional_mean.protocol import LinearMean
from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.threads import map_on_single_threads

_SHIFTED_BY = 4_096  # rows whose means are taken off: any number near the mean keeps moments accurate


@dataclass(frozen=True)
class ManyRows:
    """The factored smoother and its basis at the rows that it was fitted on. Shapes: basis (row, basis), row_weight
    (row,) summing to 1.
    """

    smoother: BlockwiseSmoother
    basis: Tensor
    row_weight: Tensor

    @classmethod
    def of(cls, mean: LinearMean, rows: Attributes, seed: int) -> ManyRows:
        """As penalties train, in 32 bits; rows that were factored last are not factored again."""
        key = ("many rows", replace(mean, ridge=None), seed)
        return rows.once(key, lambda: cls.factored(mean, rows, seed, np.float32))

    @classmethod
    def factored(cls, mean: LinearMean, rows: Attributes, seed: int, precision: type[np.floating]) -> ManyRows:
        """From the moments of the features, which are sums over rows in 64 bits. Features are computed once, stored in
        numbers of this type, and become the basis in place.
        """
        features, weight = Functions.unshifted(mean, rows, seed), torch.from_numpy(rows.weight)
        features = features.less_means(rows.take(_spread(len(rows))))
        first = torch.zeros_like(features.shift)
        second = torch.zeros(len(first), len(first), dtype=torch.float64)
        # NumPy asks the system for large pages, which are written faster
        stored = torch.from_numpy(np.empty((len(rows), 1 + len(first)), dtype=precision))

        def of_part(part: slice) -> tuple[Tensor, Tensor]:
            values = features(rows.take(np.arange(part.start, part.stop)))
            stored[part, 1:] = values
            return weight[part] @ values, scatter_matrix(weight[part].sqrt(), values)

        for own_first, own_second in map_on_single_threads(of_part, parts(len(rows))):
            first += own_first
            second += own_second
        smoother = BlockwiseSmoother.of(features, first, second, float(1 / weight.square().sum()))
        count = 1 + smoother.transform.shape[1]

        computed = smoother.precision if precision is np.float32 else torch.float64

        def to_basis(part: slice) -> None:
            stored[part, :count] = smoother.basis(stored[part, 1:].to(computed))

        list(map_on_single_threads(to_basis, parts(len(rows))))
        return cls(smoother, stored[:, :count], weight)

    def choose_ridge(self, target: Array) -> float:
        """The ridge with the smallest generalised cross-validation error; (row,)."""
        centred = torch.from_numpy(target - self.row_weight.numpy() @ target)
        weighted = (centred * self.row_weight).to(self.basis.dtype)
        coefficients = torch.zeros(self.basis.shape[1], dtype=torch.float64)
        for part in parts(len(target)):
            coefficients += weighted[part] @ self.basis[part]
        square = (self.row_weight * centred @ centred).unsqueeze(0)
        return float(self.smoother.spectrum.choose_ridge(coefficients.square().unsqueeze(0), square))

    def trimmed(self, ridge: float, least: float) -> LinearSmoother:
        """:meth:`LinearSmoother.trimmed` of the smoother of all functions; no function is copied."""
        spectrum = self.smoother.spectrum
        penalised = spectrum.shrinkage(ridge)[spectrum.free :]
        return self._first(spectrum.free + int((penalised >= least * penalised[:1]).sum()))  # moments fall

    def whole(self) -> LinearSmoother:
        """With all functions."""
        return self._first(self.basis.shape[1])

    def _first(self, count: int) -> LinearSmoother:
        spectrum, basis = self.smoother.spectrum, Basis(self.basis[:, :count])
        moments = spectrum.moments[: count - spectrum.free]
        return LinearSmoother(basis, basis, moments, self.row_weight, spectrum.nuisance)


def _spread(rows: int) -> Index:
    """The numbers of some rows, from the first to the last."""
    return np.linspace(0, rows - 1, min(rows, _SHIFTED_BY)).astype(np.int64)

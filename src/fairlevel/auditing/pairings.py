"""A prediction paired with the attributes as it is, and at random."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean.cells.membership import Membership

Pairs = np.ndarray[tuple[int, int], np.dtype[np.int64]]

_BLOCK = 2**17  # gathered values at a time, which stay in cache


def random_pairings(rows: int, count: int, groups: Index | None, random: np.random.Generator) -> Pairs:
    """Which row's prediction each row of attributes is paired with, (pairing, row). Rows of one group (row,) stay
    together: each group gets the predictions of another one, from a random row on and from the start again after the
    last. Rows of a group may be in the order of visits, which no pairing may keep.
    """
    order = np.empty((count, rows), dtype=np.int64)
    if groups is None:
        for pairing in order:
            pairing[:] = random.permutation(rows)
        return order
    _, number = np.unique(groups, return_inverse=True)
    by_group, sizes = np.argsort(number, kind="stable"), np.bincount(number)
    starts = np.cumsum(sizes) - sizes
    in_group = np.arange(rows) - np.repeat(starts, sizes)
    for pairing in order:
        other = random.permutation(len(sizes))
        first = random.integers(sizes[other])
        places = (np.repeat(first, sizes) + in_group) % np.repeat(sizes[other], sizes)
        pairing[by_group] = by_group[np.repeat(starts[other], sizes) + places]
    return order


@dataclass(frozen=True)
class Pairings:
    """Which row's prediction each row of attributes is paired with: the own one first, then random ones.

    Shapes: prediction (row,), row_weight (row,) summing to 1, order (pairing, row).
    """

    prediction: Tensor
    row_weight: Tensor
    order: Tensor

    @classmethod
    def of(cls, prediction: Array, row_weight: Array, count: int, seed: int, groups: Index | None = None) -> Pairings:
        """The prediction, standardised (0 where it is constant), with ``count`` random pairings beside its own."""
        weight = row_weight / row_weight.sum()
        centred = prediction - weight @ prediction
        spread = float(np.sqrt(weight @ centred**2))
        random = np.random.default_rng(seed)
        order = np.vstack([np.arange(len(prediction)), random_pairings(len(prediction), count, groups, random)])
        varies = spread > 1e-12 * np.abs(prediction).max()
        values = centred / spread if varies else np.zeros_like(centred)
        return cls(torch.from_numpy(values), torch.from_numpy(weight), torch.from_numpy(order))

    @cached_property
    def predictions(self) -> Tensor:
        """The prediction under each pairing, (pairing, row)."""
        return self.prediction[self.order]

    def sums(self, of_prediction: Tensor, of_attributes: Tensor) -> Tensor:
        """Σ_i u(f_π(i)) v(a_i)ᵀ for each pairing π: (row, u), (row, v) -> (pairing, u, v).

        Functions of f are computed once and permuted, and all pairings are one product per block of rows.
        """
        pairings, count = len(self.order), of_prediction.shape[1]
        total = of_attributes.new_zeros(pairings * count, of_attributes.shape[1])
        size = max(64, _BLOCK // (pairings * max(count, 1)))
        by_row = self.order.T.contiguous()
        for start in range(0, len(by_row), size):
            rows = slice(start, start + size)
            paired = of_prediction[by_row[rows]].flatten(1)  # (row, pairing · u)
            total.addmm_(paired.T, of_attributes[rows])
        return total.view(pairings, count, -1)

    def sums_by_cell(self, of_prediction: Tensor, cells: Membership, row_weight: Tensor) -> Tensor:
        """Σ_i w_i u(f_π(i)) over the rows of each cell, for each pairing π: (row, u) -> (pairing, u, cell)."""
        paired = of_prediction[self.order.T].flatten(1)  # (row, pairing · u)
        return cells.sums(paired, row_weight).T.reshape(len(self.order), of_prediction.shape[1], -1)

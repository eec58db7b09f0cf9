"""A prediction paired with the attributes as it is, and at random."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean.cells.membership import Membership
from fairlevel.metrics.row_groups import RowGroups

_BLOCK = 2**17  # gathered values at a time, which stay in cache


def random_pairing(rows: int, groups: RowGroups | None, random: np.random.Generator) -> Index:
    """Which row's prediction each row of attributes is paired with, (row,). Rows that belong together stay together:
    groups change places as a whole, with others of the same size.
    """
    if groups is None:
        return random.permutation(rows)
    order = np.empty(rows, dtype=np.int64)
    for alike in groups.by_size:  # (group, row of the group)
        order[alike.numpy()] = alike.numpy()[random.permutation(len(alike))]
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
        rows, together = len(prediction), None if groups is None else RowGroups.of(groups)
        order = np.stack([np.arange(rows), *(random_pairing(rows, together, random) for _ in range(count))])
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

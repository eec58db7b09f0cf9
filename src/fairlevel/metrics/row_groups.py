"""Which rows belong together, and sums and products within each group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Index
from fairlevel.conditional_mean.cells.signed_functions import SignedFunctions


@dataclass(frozen=True)
class RowGroups:
    """Which rows belong together: a number from 0 for each row, (row,)."""

    number: Tensor

    @classmethod
    def of(cls, groups: Index) -> RowGroups:
        return cls(torch.from_numpy(np.unique(groups, return_inverse=True)[1].astype(np.int64)))

    @cached_property
    def count(self) -> int:
        return int(self.number.max()) + 1

    @cached_property
    def by_size(self) -> list[Tensor]:
        """Row numbers, one table (group, row of the group) for each size of groups."""
        order = torch.argsort(self.number, stable=True)
        sizes = torch.bincount(self.number)
        starts = sizes.cumsum(0) - sizes
        return [order[starts[sizes == size].unsqueeze(1) + torch.arange(int(size))] for size in torch.unique(sizes)]

    def sums(self, values: Tensor) -> Tensor:
        """Sums over the rows of each group: (row, ...) -> (group, ...)."""
        return values.new_zeros(self.count, *values.shape[1:]).index_add_(0, self.number, values)

    def means(self, values: Tensor) -> Tensor:
        """Means over the rows of each group: (row,) -> (group,)."""
        return self.sums(values) / self.sums(torch.ones_like(values))

    def products(self, left: Tensor, right: Tensor, functions: SignedFunctions, weights: Tensor) -> Tensor:
        """Σ_g l_gᵀ B_g diag(q) B_gᵀ r_g of all pairs: (config, row), (other, row) -> (config, other); weights q
        (function,).
        """
        total = left.new_zeros(len(left), len(right))
        for rows in self.by_size:
            of_groups = left[:, rows].unsqueeze(2) @ functions.within_groups(rows, weights)  # (config, group, 1, row)
            total += of_groups.flatten(1) @ right[:, rows].flatten(1).T
        return total

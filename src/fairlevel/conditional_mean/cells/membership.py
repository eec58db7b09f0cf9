"""Which cell each row belongs to, functions of the cell at rows, and sums over the rows of a cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from fairlevel.arrays import Array


@dataclass(frozen=True)
class Membership:
    """The number of each row's cell, (row,), −1 for rows of no cell, and how many cells there are."""

    number: Tensor
    count: int

    @classmethod
    def none(cls, rows: int) -> Membership:
        """No cells."""
        return cls(torch.full((rows,), -1), 0)

    @classmethod
    def joined(cls, parts: tuple[Membership, ...]) -> Membership:
        """The cells of all parts, numbered in their order; no row has a cell in two of them."""
        if len(parts) == 1:
            return parts[0]
        number, count = torch.full_like(parts[0].number, -1), 0
        for each in parts:
            number, count = torch.where(each.number >= 0, each.number + count, number), count + each.count
        return Membership(number, count)

    @property
    def rows_in_cells(self) -> Tensor:
        """The numbers of the rows that have a cell, (row in a cell,)."""
        return torch.nonzero(self.number >= 0).squeeze(1)

    def at_rows(self, table: Tensor) -> Tensor:
        """Z T, functions of the cell at each row, 0 for rows of no cell: (cell, function) -> (row, function)."""
        values = table.new_zeros(len(self.number), table.shape[1])
        if not self.count:
            return values
        seen = self.rows_in_cells
        values[seen] = table[self.number[seen]]
        return values

    def sums(self, values: Tensor, row_weight: Tensor) -> Tensor:
        """ZᵀWV, the sum of w_i v_i over the rows of each cell: (row, function), (row,) -> (cell, function)."""
        sums = values.new_zeros(self.count, values.shape[1])
        if not self.count:
            return sums
        seen = self.rows_in_cells
        return sums.index_add_(0, self.number[seen], values[seen] * row_weight[seen].unsqueeze(1))

    def only(self, cells: Tensor) -> Membership:
        """The same rows with these cells alone, numbered in their order: (own cell,)."""
        place = torch.full((self.count + 1,), -1)  # the last entry is that of −1
        place[cells] = torch.arange(len(cells))
        return Membership(place[self.number], len(cells))

    def take(self, rows: slice) -> Membership:
        """Some of the rows."""
        return Membership(self.number[rows], self.count)


@dataclass(frozen=True)
class MembershipWithFallback(Membership):
    """The same, where a function of the cell has a value at rows of no cell, too: the weighted sum g F t of its values
    t in all cells, with g the nuisance functions of the row.

    Shapes: nuisance g (row, nuisance function), fallback F (nuisance function, cell).
    """

    nuisance: Tensor
    fallback: Tensor

    def at_rows(self, table: Tensor) -> Tensor:
        values = super().at_rows(table)
        if not self.count:
            return values
        none = torch.nonzero(self.number < 0).squeeze(1)
        values[none] = self.nuisance[none] @ (self.fallback @ table)
        return values

    def take(self, rows: slice) -> MembershipWithFallback:
        return MembershipWithFallback(self.number[rows], self.count, self.nuisance[rows], self.fallback)


class FeaturesAndCells(NamedTuple):
    """Features of some rows in which indicators of cells are not written out: free and penalised features, each (row,
    feature), and the cells whose indicators are free, or penalised. Only one of the two has any cells.
    """

    free: Array
    penalised: Array
    free_cells: Membership
    penalised_cells: Membership

    @classmethod
    def without_cells(cls, free: Array, penalised: Array) -> FeaturesAndCells:
        """Features of which none is known to be the indicator of a cell."""
        none = Membership.none(len(free))
        return cls(free, penalised, none, none)

"""Which cell of discrete attributes each row belongs to, and functions of the cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from fairlevel.arrays import Array


@dataclass(frozen=True)
class Membership:
    """The cell of each row, (row,), −1 for rows of none, and the number of cells."""

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

    def values(self, table: Tensor) -> Tensor:
        """Functions of the cell at each row, 0 for rows of none: (cell, function) -> (row, function)."""
        values = table.new_zeros(len(self.number), table.shape[1])
        if not self.count:
            return values
        seen = torch.nonzero(self.number >= 0).squeeze(1)
        values[seen] = table[self.number[seen]]
        return values

    def sums(self, values: Tensor, row_weight: Tensor) -> Tensor:
        """Σ w_i v_i over the rows of each cell: (row, function), (row,) -> (cell, function)."""
        sums = values.new_zeros(self.count, values.shape[1])
        if not self.count:
            return sums
        seen = torch.nonzero(self.number >= 0).squeeze(1)
        return sums.index_add_(0, self.number[seen], values[seen] * row_weight[seen].unsqueeze(1))

    def among(self, cells: Tensor) -> Membership:
        """The same rows with these cells alone, numbered in their order: (own cell,)."""
        place = torch.full((self.count + 1,), -1)
        place[cells] = torch.arange(len(cells))
        return Membership(place[self.number], len(cells))

    def take(self, rows: slice) -> Membership:
        """Some of the rows."""
        return Membership(self.number[rows], self.count)


@dataclass(frozen=True)
class SharedMembership(Membership):
    """The same, where a row of no cell has a share of every cell, g T with g its nuisance functions.

    Shapes: nuisance (row, nuisance function), shares T (nuisance function, cell).
    """

    nuisance: Tensor
    shares: Tensor

    def values(self, table: Tensor) -> Tensor:
        """Functions of the cell at each row: (cell, function) -> (row, function)."""
        values = super().values(table)
        if not self.count:
            return values
        none = torch.nonzero(self.number < 0).squeeze(1)
        values[none] = self.nuisance[none] @ (self.shares @ table)
        return values

    def take(self, rows: slice) -> SharedMembership:
        return SharedMembership(self.number[rows], self.count, self.nuisance[rows], self.shares)


class CellsApart(NamedTuple):
    """Features of some rows, each (row, feature), without the indicators of cells; cells with free indicators, and
    cells with penalised ones. Only one of the two has any cells.
    """

    free: Array
    penalised: Array
    free_cells: Membership
    penalised_cells: Membership

    @classmethod
    def without_cells(cls, free: Array, penalised: Array) -> CellsApart:
        """Features of which none is known to be the indicator of a cell."""
        none = Membership.none(len(free))
        return cls(free, penalised, none, none)

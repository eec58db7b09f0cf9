r"""Products of many draws with a matrix (cell, column), at less cost than one large product.

In a covariance of coefficients, T holds what cells and columns have in common, (cell, column). Draws z of the cells,
(draw, cell), have to be multiplied by it. Some columns b are functions of the cell. On the cells of a set of own
functions they are combinations of its shared functions, b = EU C, because U spans all that cells have in common with
them. Then zT is known for these columns from the few products with the shared functions alone:

.. math:: z\, T_b = (z\, T_{EU})\, C .

What such combinations leave of T, for columns that are no functions of the cell, is multiplied as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

_ROUNDING = 1e-12  # of the largest entry; smaller remainders are 0


class SetPlaces(NamedTuple):
    """Where a set of own functions stands: its cells among all cells, its shared functions among all columns."""

    cells: slice
    shared: slice


@dataclass(frozen=True)
class CellProducts:
    """How products with matrices (cell, column) are made: by sets of own functions, and C for the columns that are no
    shared functions, (shared function, other column). Shared functions are the last columns.
    """

    sets: tuple[SetPlaces, ...]
    combination: Tensor

    @classmethod
    def of(cls, sets: tuple[SetPlaces, ...], means: Tensor, weight: Tensor) -> CellProducts:
        """From the means of columns in each cell (cell, column) and the weights of cells (cell,)."""
        others = means.shape[1] - sum(shared.stop - shared.start for _, shared in sets)
        weighted = means[:, :others] * weight.unsqueeze(1)
        parts = [means[cells, shared].T @ weighted[cells] for cells, shared in sets]
        return cls(sets, torch.cat([means.new_empty(0, others), *parts]))

    @classmethod
    def without_sets(cls, columns: Tensor) -> CellProducts:
        """For as many columns, (…, column), of which none is a shared function."""
        return cls((), columns.new_empty(0, columns.shape[1]))

    def factored(self, table: Tensor) -> FactoredTable:
        """A matrix T (cell, column), ready for products."""
        others = self.combination.shape[1]
        parts = tuple(table[cells, shared] for cells, shared in self.sets)
        rest = table[:, :others].clone()
        for (cells, _), part, combination in zip(self.sets, parts, self._combinations(), strict=True):
            rest[cells].addmm_(part, combination, alpha=-1)
        differs = rest.abs() > _ROUNDING * torch.cat([table.new_zeros(1), table.abs().flatten()]).max()
        rows, columns = (torch.nonzero(differs.any(dim=dim)).squeeze(1) for dim in (1, 0))
        return FactoredTable(self, parts, rows, columns, rest[rows][:, columns])

    def _combinations(self) -> Iterator[Tensor]:
        """C of each set."""
        others = self.combination.shape[1]
        for _, shared in self.sets:
            yield self.combination[shared.start - others : shared.stop - others]


@dataclass(frozen=True)
class FactoredTable:
    """A matrix T (cell, column) in parts.

    Shapes: parts, for each set T at its cells and its shared functions, (own cell, shared function); rest, what
    combinations of these leave of other columns, at the ``cells`` and ``columns`` where it is not 0.
    """

    cell_products: CellProducts
    parts: tuple[Tensor, ...]
    cells: Tensor
    columns: Tensor
    rest: Tensor

    def products(self, values: Tensor) -> Tensor:
        """Z T: (draw, cell) -> (draw, column)."""
        sets, combination = self.cell_products.sets, self.cell_products.combination
        if not values.shape[1]:
            return values.new_zeros(len(values), combination.shape[1])
        by_set = [values[:, cells] @ part for (cells, _), part in zip(sets, self.parts, strict=True)]
        shared = torch.cat([values.new_empty(len(values), 0), *by_set], dim=1)
        others = shared @ combination
        others[:, self.columns] += values[:, self.cells] @ self.rest
        return torch.cat([others, shared], dim=1)

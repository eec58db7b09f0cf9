r"""What cells say about columns, at less cost than one product with all of them.

On the cells of a set, columns that only cells determine are combinations of those that the set lacks, EU C, where they
belong to the functions that U was made for. A sum Σ_c z_c b(c) over the cells of all sets is then known from the sums
Σ_c z_c EU(c) of each set, which are few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

_ROUNDING = 1e-12  # of the largest entry


@dataclass(frozen=True)
class Overlap:
    """The cells of each set and the columns that it lacks, which come after all others, and C (lacking column, other
    column).
    """

    sets: tuple[tuple[slice, slice], ...]
    mix: Tensor

    @classmethod
    def of(cls, sets: tuple[tuple[slice, slice], ...], means: Tensor, weight: Tensor) -> Overlap:
        """From the means of columns in each cell (cell, column) and the weights of cells (cell,)."""
        others = means.shape[1] - sum(lacking.stop - lacking.start for _, lacking in sets)
        weighted = means[:, :others] * weight.unsqueeze(1)
        parts = [means[cells, lacking].T @ weighted[cells] for cells, lacking in sets]
        return cls(sets, torch.cat([means.new_empty(0, others), *parts]))

    def factored(self, table: Tensor) -> FactoredTable:
        """A matrix (cell, column) for products with it."""
        others = self.mix.shape[1]
        parts = tuple(table[cells, lacking] for cells, lacking in self.sets)
        rest = table[:, :others].clone()
        for (cells, _), part, mix in zip(self.sets, parts, self._mixes(), strict=True):
            rest[cells].addmm_(part, mix, alpha=-1)
        differs = rest.abs() > _ROUNDING * torch.cat([table.new_zeros(1), table.abs().flatten()]).max()
        rows, columns = (torch.nonzero(differs.any(dim=dim)).squeeze(1) for dim in (1, 0))
        return FactoredTable(self, parts, rows, columns, rest[rows][:, columns])

    def _mixes(self) -> Iterator[Tensor]:
        """C of each set."""
        for _, lacking in self.sets:
            yield self.mix[lacking.start - self.mix.shape[1] : lacking.stop - self.mix.shape[1]]


@dataclass(frozen=True)
class FactoredTable:
    """A matrix T (cell, column): its part for each set with the columns that it lacks, and what these leave of other
    columns, at some rows and columns.
    """

    overlap: Overlap
    parts: tuple[Tensor, ...]
    rows: Tensor
    columns: Tensor
    rest: Tensor

    def products(self, values: Tensor) -> Tensor:
        """Z T: (draw, cell) -> (draw, column)."""
        if not values.shape[1]:
            return values.new_zeros(len(values), self.overlap.mix.shape[1])
        lacking = [values[:, cells] @ part for (cells, _), part in zip(self.overlap.sets, self.parts, strict=True)]
        last = torch.cat([values.new_empty(len(values), 0), *lacking], dim=1)
        others = last @ self.overlap.mix
        others[:, self.columns] += values[:, self.rows] @ self.rest
        return torch.cat([others, last], dim=1)

r"""Weighted sums of squared coefficients, Σ_j q_j c_j² with c = BᵀWf, at less cost where B holds functions of cells.

With E and EU as in :mod:`fairlevel.conditional_mean.cells.cell_sets` and one weight q for a whole set of functions Ex,
its part of the sum is

.. math:: q \lVert x^\top E^\top W f \rVert^2 = q \lVert E^\top W f \rVert^2 - q \lVert U^\top E^\top W f \rVert^2 .

Sums over the rows of each cell replace the many functions of the set, and EU counts with the weight −q. For the same
reason B diag(q) BᵀWf is the sum of such functions. Indicators of different cells share no row: their coefficients are
independent where rows are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from fairlevel.conditional_mean.cells.cell_sets import CellSet
from fairlevel.conditional_mean.cells.covariance import CoefficientCovariance
from fairlevel.conditional_mean.cells.membership import Membership
from fairlevel.conditional_mean.cells.overlap import Overlap
from fairlevel.conditional_mean.linear_algebra import scatter_matrix


@dataclass(frozen=True)
class Squares:
    """Functions whose squared coefficients make up such sums: columns (row, column), then indicators of cells times
    ``scale`` (cell,).

    ``source`` (function,) says which function of the basis has the same weight q, and ``sign`` (function,) is −1 where
    it counts against the sum. ``sets`` are the cells of each set and the columns that it lacks, which come last.
    """

    columns: Tensor
    cells: Membership
    scale: Tensor
    source: Tensor
    sign: Tensor
    sets: tuple[tuple[slice, slice], ...] = ()

    @classmethod
    def plain(cls, functions: Tensor) -> Squares:
        """All functions as columns, (row, function)."""
        rows, count = functions.shape
        source, sign = torch.arange(count), functions.new_ones(count)
        return cls(functions, Membership.none(rows), functions.new_empty(0), source, sign)

    @classmethod
    def of(cls, columns: Tensor, places: Tensor, sets: tuple[CellSet, ...]) -> Squares:
        """Of a basis with these columns (row, column) at their places (column,), and sums over cells in place of these
        sets of functions.
        """
        if not sets:
            return cls.plain(columns)
        every = torch.cat([columns, *(each.cells.values(each.lacking) for each in sets)], dim=1)
        cells = Membership.joined(tuple(each.cells for each in sets))
        sources = [places, *(torch.full((each.lacking.shape[1],), each.first) for each in sets)]
        sources += [torch.full((len(each.weight),), each.first) for each in sets]
        sign = columns.new_ones(every.shape[1] + cells.count)
        sign[columns.shape[1] : every.shape[1]] = -1
        scale = torch.cat([each.weight for each in sets]).rsqrt()
        own_cells = _one_after_another((len(each.weight) for each in sets), 0)
        own_columns = _one_after_another((each.lacking.shape[1] for each in sets), columns.shape[1])
        return cls(every, cells, scale, torch.cat(sources), sign, tuple(zip(own_cells, own_columns, strict=True)))

    def take(self, rows: slice) -> Squares:
        """Some of the rows."""
        return replace(self, columns=self.columns[rows], cells=self.cells.take(rows))

    def at(self, rows: Tensor) -> Tensor:
        """All functions at a few rows: (some row,) -> (some row, function)."""
        number = self.cells.number[rows]
        seen = torch.nonzero(number >= 0).squeeze(1)
        of_cells = self.columns.new_zeros(len(rows), self.cells.count)
        of_cells[seen, number[seen]] = self.scale[number[seen]]
        return torch.cat([self.columns[rows], of_cells], dim=1)

    def weights(self, q: Tensor) -> Tensor:
        """The weight of each function, (…, basis) -> (…, function)."""
        return q[..., self.source] * self.sign if self.cells.count else q

    def coefficients(self, weighted: Tensor) -> Tensor:
        """Coefficients of predictions times the row weights: (…, row) -> (…, function)."""
        of_columns = weighted @ self.columns
        if not self.cells.count:
            return of_columns
        rows = weighted.reshape(-1, weighted.shape[-1]).T
        of_cells = self.cells.sums(rows, torch.ones_like(rows[:, 0])).T * self.scale
        return torch.cat([of_columns, of_cells.reshape(*weighted.shape[:-1], -1)], dim=-1)

    def energy(self, coefficients: Tensor, count: int) -> Tensor:
        """Squared coefficients of a basis with so many functions; those of a set are added up at its first function:
        (config, function) -> (config, basis).
        """
        energy = coefficients.new_zeros(len(coefficients), count)
        return energy.index_add_(1, self.source, coefficients.square() * self.sign)

    def combined(self, coefficients: Tensor) -> Tensor:
        """Linear combinations at each row: (combination, function) -> (combination, row)."""
        of_columns, of_cells = coefficients.tensor_split([self.columns.shape[1]], dim=-1)
        combinations = of_columns @ self.columns.T
        return combinations.add_(self.cells.values((of_cells * self.scale).T).T) if self.cells.count else combinations

    def at_rows(self, weights: Tensor) -> Tensor:
        """Σ_j q_j b_ij²: (form, function) -> (row, form)."""
        of_columns, of_cells = weights.tensor_split([self.columns.shape[1]], dim=-1)
        sums = self.columns.square() @ of_columns.T
        return sums.add_(self.cells.values((of_cells * self.scale.square()).T)) if self.cells.count else sums

    def within(self, rows: Tensor, weights: Tensor) -> Tensor:
        """B_g diag(q) B_gᵀ of groups of as many rows each: (group, row of the group), (function,) -> (group, row,
        row).
        """
        of_columns, of_cells = weights.tensor_split([self.columns.shape[1]])
        columns = self.columns[rows]
        products = (columns * of_columns) @ columns.transpose(1, 2)
        if self.cells.count:
            number = self.cells.number[rows]
            same = (number.unsqueeze(2) == number.unsqueeze(1)) & (number >= 0).unsqueeze(2)
            products += same * (of_cells * self.scale.square())[number].unsqueeze(2)
        return products

    def covariance(self, scale: Tensor) -> CoefficientCovariance:
        """The covariance of coefficients Σ_i s_i ε_i b_i for independent ε of variance 1: (row,)."""
        squared = scale.square()
        ones = torch.ones_like(squared).unsqueeze(1)
        return CoefficientCovariance(
            scatter_matrix(scale, self.columns),
            self.cells.sums(self.columns, squared) * self.scale.unsqueeze(1),
            self.cells.sums(ones, squared).squeeze(1) * self.scale.square(),
            overlap=self._overlap,
        )

    @cached_property
    def _overlap(self) -> Overlap:
        once = torch.ones(len(self.columns), 1, dtype=self.columns.dtype)
        sums, counts = (self.cells.sums(each, once.squeeze(1)) for each in (self.columns, once))
        return Overlap.of(self.sets, sums / counts.clamp_min(1), self.scale**-2)

    def covariance_beside(self, scale: Tensor, others: Tensor) -> CoefficientCovariance:
        """The same with further coefficients Σ_i ε_i o_i after those of the columns: (row,), (row, other)."""
        columns = torch.cat([self.columns * scale.unsqueeze(1), others], dim=1)
        return CoefficientCovariance(
            scatter_matrix(torch.ones_like(scale), columns),
            self.cells.sums(columns, scale) * self.scale.unsqueeze(1),
            self.cells.sums(scale.unsqueeze(1), scale).squeeze(1) * self.scale.square(),
            overlap=Overlap((), columns.new_empty(0, columns.shape[1])),
        )


def _one_after_another(lengths: Iterable[int], first: int) -> Iterator[slice]:
    """Slices of these lengths."""
    for length in lengths:
        yield slice(first, first + length)
        first += length

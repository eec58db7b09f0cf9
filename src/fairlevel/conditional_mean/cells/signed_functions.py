r"""Signed functions φ: they stand for an orthonormal basis B whose own functions of cells are not written out.

Most of what is asked of a basis is a weighted sum over its functions, such as Σ_j q_j c_j² with c = BᵀWf, or
Σ_j q_j b_j c_j. Where all own functions of a set have one weight q, their part of such a sum is that of the scaled
indicators E less that of the shared functions EU (see :mod:`fairlevel.conditional_mean.cells`):

.. math:: q \lVert x^\top E^\top W f \rVert^2 = q \lVert E^\top W f \rVert^2 - q \lVert U^\top E^\top W f \rVert^2 .

So the sum over B is a sum over signed functions: the columns of B with the sign +1, the shared functions with −1, and
scaled indicators with +1. Products with indicators are sums over the rows of each cell. Indicators of different cells
share no row, so their coefficients are independent where rows are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from fairlevel.conditional_mean.cells.cell_products import CellProducts, SetPlaces
from fairlevel.conditional_mean.cells.covariance import CoefficientCovariance
from fairlevel.conditional_mean.cells.membership import Membership
from fairlevel.conditional_mean.cells.own_functions import OwnFunctions
from fairlevel.conditional_mean.linear_algebra import scatter_matrix


@dataclass(frozen=True)
class SignedFunctions:
    """Columns, then scaled indicators of cells; "function" in shapes below stands for both, in this order.

    Parameters
    ----------
    columns : (row, column); the shared functions of each set of own functions come last
    cells : the cell of each row
    scale : p^(−1/2) of each cell, by which its indicator is multiplied, (cell,)
    source : the function of the basis that has the same weight q, (function,)
    sign : −1 for shared functions, else 1, (function,)
    sets : the cells and the shared functions of each set of own functions
    """

    columns: Tensor
    cells: Membership
    scale: Tensor
    source: Tensor
    sign: Tensor
    sets: tuple[SetPlaces, ...] = ()

    @classmethod
    def of_columns(cls, functions: Tensor) -> SignedFunctions:
        """Of a basis without own functions of cells, (row, function)."""
        rows, count = functions.shape
        source, sign = torch.arange(count), functions.new_ones(count)
        return cls(functions, Membership.none(rows), functions.new_empty(0), source, sign)

    @classmethod
    def of(cls, columns: Tensor, places: Tensor, sets: tuple[OwnFunctions, ...]) -> SignedFunctions:
        """Of a basis with these columns (row, column) at their places (column,), and sets of own functions."""
        if not sets:
            return cls.of_columns(columns)
        every = torch.cat([columns, *(each.cells.at_rows(each.shared) for each in sets)], dim=1)
        cells = Membership.joined(tuple(each.cells for each in sets))
        sources = [places, *(torch.full((each.shared.shape[1],), each.first) for each in sets)]
        sources += [torch.full((len(each.weight),), each.first) for each in sets]
        sign = columns.new_ones(every.shape[1] + cells.count)
        sign[columns.shape[1] : every.shape[1]] = -1
        scale = torch.cat([each.weight for each in sets]).rsqrt()
        own_cells = _one_after_another((len(each.weight) for each in sets), 0)
        own_shared = _one_after_another((each.shared.shape[1] for each in sets), columns.shape[1])
        of_sets = tuple(SetPlaces(*both) for both in zip(own_cells, own_shared, strict=True))
        return cls(every, cells, scale, torch.cat(sources), sign, of_sets)

    def take(self, rows: slice) -> SignedFunctions:
        """Some of the rows."""
        return replace(self, columns=self.columns[rows], cells=self.cells.take(rows))

    def at(self, rows: Tensor) -> Tensor:
        """All functions at a few rows, written out: (some row,) -> (some row, function)."""
        number = self.cells.number[rows]
        seen = torch.nonzero(number >= 0).squeeze(1)
        of_cells = self.columns.new_zeros(len(rows), self.cells.count)
        of_cells[seen, number[seen]] = self.scale[number[seen]]
        return torch.cat([self.columns[rows], of_cells], dim=1)

    def weights(self, q: Tensor) -> Tensor:
        """±q of each function from q of the basis, the same for all own functions of a set: (…, basis) -> (…,
        function).
        """
        return q[..., self.source] * self.sign if self.cells.count else q

    def coefficients(self, weighted: Tensor) -> Tensor:
        """φᵀWf from predictions times the row weights: (…, row) -> (…, function)."""
        of_columns = weighted @ self.columns
        if not self.cells.count:
            return of_columns
        rows = weighted.reshape(-1, weighted.shape[-1]).T
        of_cells = self.cells.sums(rows, torch.ones_like(rows[:, 0])).T * self.scale
        return torch.cat([of_columns, of_cells.reshape(*weighted.shape[:-1], -1)], dim=-1)

    def energy(self, coefficients: Tensor, count: int) -> Tensor:
        """Squared coefficients of a basis with so many functions; those of a set of own functions are added up at its
        first: (config, function) -> (config, basis).
        """
        energy = coefficients.new_zeros(len(coefficients), count)
        return energy.index_add_(1, self.source, coefficients.square() * self.sign)

    def combined(self, coefficients: Tensor) -> Tensor:
        """Σ_k c_k φ_k at each row: (combination, function) -> (combination, row)."""
        of_columns, of_cells = coefficients.tensor_split([self.columns.shape[1]], dim=-1)
        combinations = of_columns @ self.columns.T
        return combinations.add_(self.cells.at_rows((of_cells * self.scale).T).T) if self.cells.count else combinations

    def sums_of_squares(self, weights: Tensor) -> Tensor:
        """Σ_k q_k φ_ik² at each row, the diagonal of φ diag(q) φᵀ: (form, function) -> (row, form)."""
        of_columns, of_cells = weights.tensor_split([self.columns.shape[1]], dim=-1)
        sums = self.columns.square() @ of_columns.T
        return sums.add_(self.cells.at_rows((of_cells * self.scale.square()).T)) if self.cells.count else sums

    def within_groups(self, rows: Tensor, weights: Tensor) -> Tensor:
        """The block φ_g diag(q) φ_gᵀ of each group of rows, all of the same size: (group, row of the group),
        (function,) -> (group, row of the group, row of the group).
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
        """The covariance of coefficients Σ_i s_i ε_i φ_i for independent ε of variance 1, one per row: (row,)."""
        squared = scale.square()
        ones = torch.ones_like(squared).unsqueeze(1)
        return CoefficientCovariance(
            scatter_matrix(scale, self.columns),
            self.cells.sums(self.columns, squared) * self.scale.unsqueeze(1),
            self.cells.sums(ones, squared).squeeze(1) * self.scale.square(),
            cell_products=self._cell_products,
        )

    def covariance_beside(self, scale: Tensor, others: Tensor) -> CoefficientCovariance:
        """The same with further coefficients Σ_i ε_i o_i after those of the columns: (row,), (row, other)."""
        columns = torch.cat([self.columns * scale.unsqueeze(1), others], dim=1)
        return CoefficientCovariance(
            scatter_matrix(torch.ones_like(scale), columns),
            self.cells.sums(columns, scale) * self.scale.unsqueeze(1),
            self.cells.sums(scale.unsqueeze(1), scale).squeeze(1) * self.scale.square(),
            cell_products=CellProducts.without_sets(columns),
        )

    @cached_property
    def _cell_products(self) -> CellProducts:
        once = torch.ones(len(self.columns), 1, dtype=self.columns.dtype)
        sums, counts = (self.cells.sums(each, once.squeeze(1)) for each in (self.columns, once))
        return CellProducts.of(self.sets, sums / counts.clamp_min(1), self.scale**-2)


def _one_after_another(lengths: Iterable[int], first: int) -> Iterator[slice]:
    """Slices of these lengths, from ``first`` on."""
    for length in lengths:
        yield slice(first, first + length)
        first += length

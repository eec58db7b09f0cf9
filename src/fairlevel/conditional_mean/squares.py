r"""Weighted sums of squared coefficients, Σ_j q_j c_j² with c = BᵀWf, at less cost where B holds functions of cells.

Let a set of functions be all combinations Ex of the scaled indicators E of some cells that are orthogonal to a few
others, EU; both x and U are orthonormal. Where q is the same for the whole set, its part of the sum is

.. math:: q \lVert x^\top E^\top W f \rVert^2 = q \lVert E^\top W f \rVert^2 - q \lVert U^\top E^\top W f \rVert^2 .

Sums over the rows of each cell replace the many functions of the set, and EU counts with the weight −q. Indicators of
different cells share no row: their coefficients are independent where rows are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fairlevel.conditional_mean.membership import Membership
from fairlevel.conditional_mean.scatter import scatter


@dataclass(frozen=True)
class CellSet:
    """Columns of a basis, from ``first`` on, that are all functions of some cells but those in ``lacking``. Both are
    orthonormal, and functions of the set have one weight q.

    Shapes: weight (cell,), lacking EU (cell, function).
    """

    first: int
    cells: Membership
    weight: Tensor
    lacking: Tensor

    @property
    def end(self) -> int:
        """The column after the last one."""
        return self.first + len(self.weight) - self.lacking.shape[1]

    def moved(self, by: int) -> CellSet:
        """The same columns in a basis in which they stand elsewhere."""
        return replace(self, first=self.first + by)


@dataclass(frozen=True)
class Squares:
    """Functions whose squared coefficients make up such sums: columns (row, column), then indicators of cells times
    ``scale`` (cell,).

    ``source`` (function,) says which function of the basis has the same weight q, and ``sign`` (function,) is −1 where
    it counts against the sum.
    """

    columns: Tensor
    cells: Membership
    scale: Tensor
    source: Tensor
    sign: Tensor

    @classmethod
    def plain(cls, functions: Tensor) -> Squares:
        """All functions as columns, (row, function)."""
        rows, count = functions.shape
        source, sign = torch.arange(count), functions.new_ones(count)
        return cls(functions, Membership.none(rows), functions.new_empty(0), source, sign)

    @classmethod
    def of(cls, functions: Tensor, sets: tuple[CellSet, ...]) -> Squares:
        """With sums over cells in place of these sets of functions, (row, function)."""
        if not sets:
            return cls.plain(functions)
        single = torch.ones(functions.shape[1], dtype=torch.bool)
        number, count = torch.full((len(functions),), -1), 0
        for each in sets:
            single[each.first : each.end] = False
            own = each.cells.number
            number, count = torch.where(own >= 0, own + count, number), count + len(each.weight)
        sources = [torch.nonzero(single).squeeze(1)]
        sources += [torch.full((each.lacking.shape[1],), each.first) for each in sets]
        columns = torch.cat([functions[:, single], *(each.cells.values(each.lacking) for each in sets)], dim=1)
        sign = functions.new_ones(columns.shape[1] + count)
        sign[len(sources[0]) : columns.shape[1]] = -1
        sources += [torch.full((len(each.weight),), each.first) for each in sets]
        scale = torch.cat([each.weight for each in sets]).rsqrt()
        return cls(columns, Membership(number, count), scale, torch.cat(sources), sign)

    def weights(self, q: Tensor) -> Tensor:
        """The weight of each function, (…, basis) -> (…, function)."""
        return q[..., self.source] * self.sign

    def coefficients(self, weighted: Tensor) -> Tensor:
        """Coefficients of one prediction times the row weights: (row,) -> (function,)."""
        of_cells = self.cells.sums(torch.ones_like(weighted).unsqueeze(1), weighted).squeeze(1)
        return torch.cat([weighted @ self.columns, of_cells * self.scale])

    def at_rows(self, weights: Tensor) -> Tensor:
        """Σ_j q_j b_ij²: (form, function) -> (row, form)."""
        of_columns, of_cells = weights.tensor_split([self.columns.shape[1]], dim=-1)
        return self.columns.square() @ of_columns.T + self.cells.values((of_cells * self.scale.square()).T)

    def scatter(self, scale: Tensor) -> Scatter:
        """The covariance of coefficients Σ_i s_i ε_i b_i for independent ε of variance 1: (row,)."""
        squared = scale.square()
        ones = torch.ones_like(squared).unsqueeze(1)
        return Scatter(
            scatter(scale, self.columns),
            self.cells.sums(self.columns, squared) * self.scale.unsqueeze(1),
            self.cells.sums(ones, squared).squeeze(1) * self.scale.square(),
        )


@dataclass(frozen=True)
class Scatter:
    """A covariance K of coefficients: of columns (column, column), of cells with columns (cell, column), and of cells,
    which is diagonal, (cell,).
    """

    columns: Tensor
    across: Tensor
    cells: Tensor

    @classmethod
    def plain(cls, columns: Tensor) -> Scatter:
        """Of columns alone."""
        return cls(columns, columns.new_empty(0, len(columns)), columns.new_empty(0))

    def __sub__(self, other: Scatter) -> Scatter:
        return Scatter(self.columns - other.columns, self.across - other.across, self.cells - other.cells)

    def diagonal(self) -> Tensor:
        """(function,)"""
        return torch.cat([self.columns.diagonal(), self.cells])

    def form(self, weights: Tensor) -> Tensor:
        """Σ_jk q_j q_k K_jk² = tr(qKqK): (…, function) -> (…)."""
        of_columns, of_cells = weights.tensor_split([len(self.columns)], dim=-1)
        both = of_columns @ self.columns.square() + 2 * (of_cells @ self.across.square())
        return (both * of_columns).sum(dim=-1) + of_cells.square() @ self.cells.square()

    def drawn(self, normal: Tensor) -> Tensor:
        """Draws from N(0, K) made of standard normal ones: (draw, function) -> (draw, function). Cells come first; of
        columns, what cells do not determine is left to be drawn.
        """
        of_columns, of_cells = normal.tensor_split([len(self.columns)], dim=1)
        known = self.across * torch.where(self.cells > 0, self.cells.rsqrt(), 0).unsqueeze(1)
        moments, vectors = torch.linalg.eigh(self.columns - known.T @ known)
        root = vectors * moments.clamp_min(0).sqrt()
        return torch.cat([of_columns @ root.T + of_cells @ known, of_cells * self.cells.sqrt()], dim=1)

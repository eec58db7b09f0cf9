"""What is independent, rows or groups of rows: one place for all that differs between the two."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from fairlevel.arrays import Array, Flags, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.smoother import Functions


@dataclass(frozen=True)
class Units:
    """The number of the unit that each row belongs to, (row,), from 0; a unit is a row or a group of rows."""

    number: Index
    count: int

    @classmethod
    def of(cls, rows: Attributes) -> Units:
        if rows.groups is None:
            return cls(np.arange(len(rows)), len(rows))
        labels, number = np.unique(rows.groups, return_inverse=True)
        return cls(number.ravel() if len(labels) < len(rows) else np.arange(len(rows)), len(labels))

    @property
    def are_rows(self) -> bool:
        return self.count == len(self.number)

    def sums(self, values: Array) -> Array:
        """Sums over the rows of each unit: (row, …) -> (unit, …)."""
        return values if self.are_rows else self._membership @ values

    def any(self, flags: Flags) -> Flags:
        """Units of which a row has the flag, (row,) -> (unit,)."""
        return np.bincount(self.number, flags, self.count) > 0

    @cached_property
    def _membership(self) -> csr_array:
        ones, rows = np.ones(len(self.number)), np.arange(len(self.number))
        return csr_array((ones, (self.number, rows)), shape=(self.count, len(rows)))

    @cached_property
    def by_size(self) -> list[Index]:
        """Row numbers, one table (unit, row of the unit) for each size of units."""
        if self.are_rows:
            return [self.number[:, None]]
        order, sizes = np.argsort(self.number, kind="stable"), np.bincount(self.number, minlength=self.count)
        starts = np.cumsum(sizes) - sizes
        return [order[starts[sizes == size][:, None] + np.arange(size)] for size in np.unique(sizes)]

    def scores(self, functions: Functions, weighted: Array) -> Scores:
        """Σ_i v_i b_i over the rows of each unit, v (row,)."""
        columns = np.empty((len(functions), functions.columns.shape[1] + 1))
        np.multiply(functions.columns, weighted[:, None], out=columns[:, :-1])
        columns[:, -1] = weighted
        levels = functions.indicators.multiply(weighted[:, None]).tocsr()
        return Scores(levels if self.are_rows else self._membership @ levels, self.sums(columns))


class Scores(NamedTuple):
    """The scores of units on indicators of levels, not centred, sparse (unit, level), and on columns; the last column
    is the constant. Centred indicators explain what others do, less the constant: it has the weight −1 beside them.
    """

    levels: csr_array
    columns: Array

    def products(self, other: Scores, weights: Array) -> Array:
        """s_uᵀ diag(q) t_u of each unit; weights q (function,), 1 for levels."""
        products: Array = np.einsum("uf,uf,f->u", self.columns, other.columns, _of_columns(self.levels, weights))
        products += self.levels.multiply(other.levels).sum(axis=1)
        return products

    def covariance(self) -> Covariance:
        """K = Σ_u s_u s_uᵀ."""
        levels, columns = self
        return Covariance(levels.T @ levels, levels.T @ columns, columns.T @ columns)


class Covariance(NamedTuple):
    """The covariance K of scores, or the difference of two: among levels, sparse (level, level), between levels and
    columns (level, column), and among columns (column, column).
    """

    levels: csr_array
    across: Array
    columns: Array

    def __sub__(self, other: Covariance) -> Covariance:
        return Covariance(self.levels - other.levels, self.across - other.across, self.columns - other.columns)

    def traces(self, weights: Array) -> Array:
        """tr qK, tr (qK)² and tr (qK)³, (3,); weights q (function,), 1 for levels."""
        levels, across, q = self.levels, self.across, _of_columns(self.levels, weights)
        weighted, columns = across * q, self.columns * q
        first = levels.trace() + np.trace(columns)
        second = levels.multiply(levels).sum() + 2 * (weighted * across).sum() + (columns * columns.T).sum()
        third = (levels @ levels).multiply(levels).sum() + np.trace(columns @ columns @ columns)
        third += 3 * (((levels @ across) + weighted @ self.columns) * weighted).sum()
        return np.array([first, second, third])


def _of_columns(levels: csr_array, weights: Array) -> Array:
    """The weights of columns, the constant last: −1 beside levels, otherwise 0."""
    return np.append(weights[levels.shape[1] :], -1.0 if levels.shape[1] else 0.0)

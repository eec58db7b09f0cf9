"""What is independent, rows or groups of rows: one place for all that differs between the two."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from fairlevel.arrays import Array, Flags, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.functions import Functions


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
        if self.are_rows:
            return values
        if values.ndim == 1:
            return np.bincount(self.number, values, self.count).astype(np.float64)
        totals: Array = self._membership @ values
        return totals

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
        columns = self.sums(functions.columns * weighted[:, None])
        if functions.level is None:
            return Scores(columns)
        values = weighted * functions.scale[functions.level]
        shape = self.count, len(functions.scale)
        levels = csr_array((values, (self.number, functions.level)), shape=shape)  # sums what is given twice
        return Scores(columns, OfLevels(levels, self.sums(weighted), 1 / functions.scale))


class OfLevels(NamedTuple):
    """Scores of indicators of levels that are not centred, sparse (unit, level), the totals Σ_i v_i of each unit, and
    the root r of the weight of each level: centred scores are S − total rᵀ, and S r are the totals.
    """

    scores: csr_array
    total: Array
    root: Array


@dataclass(frozen=True)
class Scores:
    """The scores of units on columns (unit, column), and on levels, which all have the weight 1."""

    columns: Array
    levels: OfLevels | None = None

    def products(self, other: Scores, weights: Array) -> Array:
        """s_uᵀ diag(q) t_u of each unit; weights q (function,)."""
        of_columns = weights[len(weights) - self.columns.shape[1] :]
        total: Array = np.einsum("uf,uf,f->u", self.columns, other.columns, of_columns)
        if self.levels is not None and other.levels is not None:
            total += self.levels.scores.multiply(other.levels.scores).sum(axis=1)
            total -= self.levels.total * other.levels.total
        return total

    def covariance(self) -> Covariance:
        """K = Σ_u s_u s_uᵀ."""
        among_columns = self.columns.T @ self.columns
        if self.levels is None:
            return Covariance(among_columns)
        scores, _, root = self.levels
        across = scores.T @ self.columns
        return Covariance(among_columns, across - np.outer(root, root @ across), (scores.T @ scores).tocsr(), root)


@dataclass(frozen=True)
class Covariance:
    """The covariance K of coefficients, or the difference of two: among columns (column, column), between levels and
    columns (level, column), and among levels that are not centred, sparse (level, level), with the roots r of their
    weights: centred, they have P K P with P = 1 − r rᵀ.
    """

    columns: Array
    across: Array | None = None
    levels: csr_array | None = None
    root: Array | None = None

    def __sub__(self, other: Covariance) -> Covariance:
        across = None if self.across is None or other.across is None else self.across - other.across
        levels = None if self.levels is None or other.levels is None else self.levels - other.levels
        return Covariance(self.columns - other.columns, across, levels, self.root)

    def trace_of_square(self, weights: Array) -> float:
        """tr(qKqK); weights q (function,)."""
        return float(self.traces(weights)[1])

    def traces(self, weights: Array) -> Array:
        """tr M, tr M² and tr M³ of M = √q K √q, (3,); weights q ≥ 0 (function,), 1 for levels."""
        count = 0 if self.levels is None else self.levels.shape[0]
        root = np.sqrt(weights[count:])
        inner = root[:, None] * self.columns * root
        squared = inner @ inner
        found = np.array([np.trace(inner), np.trace(squared), (squared * inner).sum()])
        if self.levels is None or self.across is None or self.root is None:
            return found
        levels, across = self.levels, self.across * root
        once = levels @ self.root
        twice, square = levels @ once, levels @ levels
        first, second, third = self.root @ once, once @ once, once @ twice  # rᵀKr, rᵀK²r, rᵀK³r
        found[0] += levels.trace() - first
        found[1] += square.trace() - 2 * second + first**2 + 2 * np.square(across).sum()
        found[2] += square.multiply(levels).sum() - 3 * third + 3 * first * second - first**3
        found[2] += 3 * ((levels @ across) * across).sum() + 3 * ((across @ inner) * across).sum()
        return found

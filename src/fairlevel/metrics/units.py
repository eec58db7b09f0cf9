"""What is independent, rows or groups of rows: one place for all that differs between the two."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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
        columns, root = self.sums(functions.columns * weighted[:, None]), 1 / functions.scale
        if functions.level is None:
            return Scores(columns, csr_array((self.count, 0)), np.zeros(self.count), root)
        values = weighted * functions.scale[functions.level]
        levels = csr_array((values, (self.number, functions.level)), shape=(self.count, len(root)))  # sums what repeats
        return Scores(columns, levels, self.sums(weighted), root)


@dataclass(frozen=True)
class Scores:
    """The scores of units on columns (unit, column), and on indicators of levels that are not centred, sparse (unit,
    level), with the totals Σ_i v_i of each unit, (unit,), and the root r of the weight of each level, (level,): centred
    scores are S − total rᵀ, and S r are the totals.
    """

    columns: Array
    levels: csr_array
    total: Array
    root: Array

    def products(self, other: Scores, weights: Array) -> Array:
        """s_uᵀ diag(q) t_u of each unit; weights q (function,), 1 for levels."""
        products: Array = np.einsum("uf,uf,f->u", self.columns, other.columns, weights[len(self.root) :])
        if len(self.root):
            products += self.levels.multiply(other.levels).sum(axis=1) - self.total * other.total
        return products

    def covariance(self) -> Covariance:
        """K = Σ_u s_u s_uᵀ."""
        across = self.levels.T @ self.columns
        across -= np.outer(self.root, self.root @ across)
        return Covariance(self.columns.T @ self.columns, across, (self.levels.T @ self.levels).tocsr(), self.root)


@dataclass(frozen=True)
class Covariance:
    """The covariance K of coefficients, or the difference of two: among columns (column, column), between levels and
    columns (level, column), and among levels that are not centred, sparse (level, level), with the roots r of their
    weights: centred, they have P K P with P = 1 − r rᵀ.
    """

    columns: Array
    across: Array
    levels: csr_array
    root: Array

    def __sub__(self, other: Covariance) -> Covariance:
        columns, across = self.columns - other.columns, self.across - other.across
        return Covariance(columns, across, self.levels - other.levels, self.root)

    def traces(self, weights: Array) -> Array:
        """tr M, tr M² and tr M³ of M = √q K √q, (3,); weights q ≥ 0 (function,), 1 for levels."""
        weight = np.sqrt(weights[len(self.root) :])
        inner = weight[:, None] * self.columns * weight
        squared = inner @ inner
        traces = np.array([np.trace(inner), np.trace(squared), (squared * inner).sum()])
        if not len(self.root):
            return traces
        levels, across = self.levels, self.across * weight
        once = levels @ self.root
        twice, square = levels @ once, levels @ levels
        first, second, third = self.root @ once, once @ once, once @ twice  # rᵀKr, rᵀK²r, rᵀK³r
        traces[0] += levels.trace() - first
        traces[1] += square.trace() - 2 * second + first**2 + 2 * np.square(across).sum()
        traces[2] += square.multiply(levels).sum() - 3 * third + 3 * first * second - first**3
        traces[2] += 3 * ((levels @ across) * across).sum() + 3 * ((across @ inner) * across).sum()
        return traces

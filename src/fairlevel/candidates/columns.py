"""Columns Φ that may be added to the predictions of a model, and the normal equations of a correction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import torch
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_matrix

from fairlevel.arrays import Array, Index
from fairlevel.metrics.threads import on_single_threads
from fairlevel.trees.protocol import Leaves

_ACCURACY = 1e-9  # of a solution, relative to the right-hand side
_MOST_REFINEMENTS = 30


class Normal(Protocol):
    """The normal matrix M = G + ρτI with G = Φ̃ᵀWΦ̃ and τ = tr(G) / columns."""

    def solve(self, ridge: float, right: Array) -> Array:
        """M⁻¹ times (column, function), for a ridge ρ."""


class Columns(Protocol):
    """Columns Φ on some rows."""

    def take(self, rows: Index) -> Self:
        """The same columns on some of the rows."""

    def normal(self, weight: Array) -> Normal:
        """The normal matrix for row weights that sum to 1, (row,)."""

    def cross(self, functions: Array) -> Array:
        """Φᵀ times functions (row, function) -> (column, function)."""

    def apply(self, coefficients: Array) -> Array:
        """Φ u, (candidate, column) -> (candidate, row)."""


@dataclass(frozen=True)
class DenseColumns:
    """Columns as a matrix: what each tree adds, for example. Shapes: values (row, column)."""

    values: Array

    def take(self, rows: Index) -> DenseColumns:
        return DenseColumns(self.values[rows])

    def normal(self, weight: Array) -> DenseNormal:
        centred = self.values - weight @ self.values
        centred *= np.sqrt(weight)[:, None]
        return DenseNormal(centred.T @ centred)

    def cross(self, functions: Array) -> Array:
        crossed: Array = self.values.T @ functions
        return crossed

    def apply(self, coefficients: Array) -> Array:
        applied: Array = coefficients @ self.values.T
        return applied


@dataclass(frozen=True)
class DenseNormal:
    """G as a matrix, (column, column)."""

    gram: Array

    def solve(self, ridge: float, right: Array) -> Array:
        scale = max(float(np.trace(self.gram)) / len(self.gram), 1e-300)
        matrix = torch.from_numpy(self.gram + ridge * scale * np.eye(len(self.gram)))
        (found,) = on_single_threads(lambda: torch.cholesky_solve(torch.from_numpy(right), torch.linalg.cholesky(matrix)))
        solved: Array = found.numpy()
        return solved


@dataclass(frozen=True)
class LeafColumns:
    """One column of zeros and ones per leaf of every tree, kept as the numbers of the columns that are one.

    Shapes: ones (row, tree); first (tree + 1,), the first column of each tree.
    """

    ones: Index
    first: Index

    @classmethod
    def of(cls, leaves: Leaves, sizes: Sequence[int]) -> LeafColumns:
        """From numbers of leaves, counted within each tree, and the number of leaves of each tree."""
        first = np.concatenate([[0], np.cumsum(sizes)])
        return cls(leaves + first[:-1], first)

    @property
    def count(self) -> int:
        """How many columns there are."""
        return int(self.first[-1])

    @cached_property
    def matrix(self) -> Any:
        """The same, sparse: (row, column)."""
        rows, trees = self.ones.shape
        starts = trees * np.arange(rows + 1)
        return csr_matrix((np.ones(self.ones.size), self.ones.ravel(), starts), shape=(rows, self.count))

    def take(self, rows: Index) -> LeafColumns:
        return LeafColumns(self.ones[rows], self.first)

    def normal(self, weight: Array) -> LeafNormal:
        return LeafNormal(self, weight)

    def cross(self, functions: Array) -> Array:
        crossed: Array = self.matrix.T @ functions
        return crossed

    def apply(self, coefficients: Array) -> Array:
        applied: Array = (self.matrix @ np.ascontiguousarray(coefficients.T)).T
        return applied


@dataclass(frozen=True)
class LeafNormal:
    """G of leaves is a table of rows that two leaves share, and as large as leaves are many. So M is written and
    factored in 32 bits, in place, and the solution is refined in 64 bits with products by Φ, which is sparse.
    """

    columns: LeafColumns
    weight: Array

    @cached_property
    def mean(self) -> Array:
        """Weight of each leaf, (column,)."""
        mean: Array = self.columns.matrix.T @ self.weight
        return mean

    @property
    def scale(self) -> float:
        """τ."""
        return max(float((self.mean - self.mean**2).mean()), 1e-300)

    def solve(self, ridge: float, right: Array) -> Array:
        lower = self.table()
        lower[np.diag_indices_from(lower)] += np.float32(ridge * self.scale)
        upper: Any = lower.T  # stored by columns, as LAPACK needs it to work in place
        factor = cho_factor(upper, lower=False, overwrite_a=True, check_finite=False)
        size = np.abs(right).max(axis=0, initial=1e-300)
        solved, rest = np.zeros_like(right), right / size
        for _ in range(_MOST_REFINEMENTS):
            solved += cho_solve(factor, rest.astype(np.float32), check_finite=False)
            rest = right / size - self.apply(solved) - ridge * self.scale * solved
            if np.abs(rest).max(initial=0) <= _ACCURACY:
                break
        return solved * size

    def apply(self, coefficients: Array) -> Array:
        """G times (column, function)."""
        values = self.columns.matrix @ coefficients
        values -= self.weight @ values
        values *= self.weight[:, None]
        applied: Array = self.columns.matrix.T @ values
        return applied

    def table(self) -> Array:
        """G, (column, column), in 32 bits; only its lower triangle of trees is filled.

        The rows of one leaf are brought together; their columns of all trees so far are then counted at once.
        """
        ones, first = self.columns.ones, self.columns.first
        equal = bool(np.ptp(self.weight) == 0)
        found = np.zeros((self.columns.count, self.columns.count), dtype=np.float32)
        for tree in range(ones.shape[1]):
            order, end = np.argsort(ones[:, tree], kind="stable"), int(first[tree + 1])
            together = ones[order, : tree + 1]
            own = np.bincount(ones[:, tree] - first[tree], minlength=end - int(first[tree]))
            stops = np.cumsum(own)
            for leaf, (start, stop) in enumerate(zip(stops - own, stops, strict=True), start=int(first[tree])):
                part = together[start:stop].ravel()
                weights = None if equal else np.repeat(self.weight[order[start:stop]], tree + 1)
                counted = np.bincount(part, weights, end) * (self.weight[0] if equal else 1.0)
                found[leaf, :end] = counted - self.mean[leaf] * self.mean[:end]
        return found

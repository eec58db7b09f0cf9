"""Columns Φ that may be added to the predictions of a model, and the normal equations of a correction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Protocol, Self

import numpy as np
from scipy.linalg import cho_solve, lapack
from scipy.sparse import csr_matrix

from fairlevel.arrays import Array, Index
from fairlevel.threads import on_single_threads, workers
from fairlevel.trees.protocol import Leaves

Ones = np.ndarray[tuple[int, int], np.dtype[np.int32]]
Table = np.ndarray[tuple[int, int], np.dtype[np.float32]]

_ACCURACY = 1e-7  # of a random combination of solutions, relative to the right-hand side
_MOST_REFINEMENTS = 30


class Factored(Protocol):
    """A normal matrix M that was factored."""

    def solve(self, right: Array) -> Array:
        """M⁻¹ times (column, function)."""


class Normal(Protocol):
    """The normal matrix M = G + ρτI with G = Φ̃ᵀWΦ̃ and τ = tr(G) / columns."""

    @property
    def scale(self) -> float:
        """τ."""

    def factored(self, ridge: float) -> Factored:
        """M for a ridge ρ."""


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

    @property
    def scale(self) -> float:
        return max(float(np.trace(self.gram)) / len(self.gram), 1e-300)

    def factored(self, ridge: float) -> DenseFactored:
        matrix: Array = self.gram + ridge * self.scale * np.eye(len(self.gram))
        return DenseFactored(np.asarray(np.linalg.cholesky(matrix), dtype=np.float64))


@dataclass(frozen=True)
class DenseFactored:
    """The lower Cholesky factor of M, (column, column)."""

    lower: Array

    def solve(self, right: Array) -> Array:
        solved: Array = cho_solve((self.lower, True), right)
        return solved


@dataclass(frozen=True)
class LeafColumns:
    """One column of zeros and ones per leaf of every tree, kept as the numbers of the columns that are one.

    Shapes: ones (row, tree); first (tree + 1,), the first column of each tree.
    """

    ones: Ones
    first: Index

    @classmethod
    def of(cls, leaves: Leaves, sizes: Sequence[int]) -> LeafColumns:
        """From numbers of leaves, counted within each tree, and the number of leaves of each tree."""
        first = np.concatenate([[0], np.cumsum(sizes)])
        return cls(leaves + first[:-1].astype(np.int32), first)

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

    def factored(self, ridge: float) -> LeafFactored:
        lower = self.table()
        lower[np.diag_indices_from(lower)] += np.float32(ridge * self.scale)
        upper, failed = lapack.spotrf(lower.T, lower=0, clean=0, overwrite_a=1)  # by columns, in place
        if failed:
            raise np.linalg.LinAlgError(f"The normal matrix of {len(lower)} leaves is not positive definite.")
        return LeafFactored(self, ridge * self.scale, upper)

    def apply(self, coefficients: Array) -> Array:
        """G times (column, function); parts of the functions on several threads."""
        parts = np.array_split(coefficients, workers(), axis=1)
        return np.concatenate(on_single_threads(*(partial(self._apply, part) for part in parts)), axis=1)

    def _apply(self, coefficients: Array) -> Array:
        values = self.columns.matrix @ coefficients
        values -= self.weight @ values
        values *= self.weight[:, None]
        applied: Array = self.columns.matrix.T @ values
        return applied

    def table(self) -> Table:
        """G, (column, column), in 32 bits; only its lower triangle of trees is filled: for two trees, how much weight
        falls into a leaf of the one and a leaf of the other.
        """
        first, mean, count = self.columns.first, self.mean, self.columns.count
        found: Table = np.zeros((count, count), dtype=np.float32)
        leaves = (self.columns.ones - first[:-1]).T.astype(np.int64, order="C")  # (tree, row), as bincount reads them
        parts = [slice(*ends) for ends in pairwise(first.tolist())]
        most = int(np.diff(first).max())
        equal = bool(np.ptp(self.weight) == 0)
        for one, own in enumerate(parts):
            size, start = own.stop - own.start, leaves[one] * most
            for other, part in enumerate(parts[: one + 1]):
                counted = np.bincount(start + leaves[other], None if equal else self.weight, size * most)
                found[own, part] = counted.reshape(size, most)[:, : part.stop - part.start]
            if equal:
                found[own, : own.stop] *= np.float32(self.weight[0])
            found[own, : own.stop] -= np.outer(mean[own], mean[: own.stop])
        return found


@dataclass(frozen=True)
class LeafFactored:
    """M in 32 bits, as its upper Cholesky factor (column, column); ``added`` is ρτ."""

    normal: LeafNormal
    added: float
    upper: Table

    def solve(self, right: Array) -> Array:
        size = np.abs(right).max(axis=0, initial=1e-300)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], right.shape[1])
        scaled = right / size
        solved, rest = np.zeros_like(right), scaled
        for _ in range(_MOST_REFINEMENTS):
            solved += lapack.spotrs(self.upper, rest.astype(np.float32), lower=0)[0]
            if np.abs(self._rest(scaled @ signs, solved @ signs)).max(initial=0) <= _ACCURACY:
                break
            rest = self._rest(scaled, solved)
        in_units: Array = solved * size
        return in_units

    def _rest(self, right: Array, solved: Array) -> Array:
        """What is left of the right-hand side: (column,) or (column, function)."""
        functions = solved.reshape(len(solved), -1)
        rest: Array = right - self.normal.apply(functions).reshape(right.shape) - self.added * solved
        return rest

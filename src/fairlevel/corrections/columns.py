"""Columns Φ that may be added to the predictions of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from fairlevel.arrays import Array, Index
from fairlevel.trees.protocol import Leaves

_LEAVES_AT_ONCE = 1024  # of a sparse product that is written out


@dataclass(frozen=True)
class DenseColumns:
    """Columns as a matrix: what each tree adds, for example. Shapes: values (row, column)."""

    values: Any

    def take(self, rows: Index) -> Self:
        """The same columns on some of the rows."""
        return type(self)(self.values[rows])

    def gram(self, weight: Array) -> Array:
        """G = Φ̃ᵀWΦ̃ with centred columns, for row weights that sum to 1: (row,) -> (column, column)."""
        centred = self.values - weight @ self.values
        centred *= np.sqrt(weight)[:, None]
        return np.asarray(centred.T @ centred)

    def rows_gram(self, weight: Array, mean: Array) -> Array:
        """√W (Φ − 1 m)(Φ − 1 m)ᵀ √W for weights (row,) and a mean m (column,): (row, row)."""
        product = self.values @ self.values.T
        matrix = product if isinstance(product, np.ndarray) else product.toarray()
        shared = self.values @ mean
        matrix += mean @ mean - shared[:, None] - shared
        root = np.sqrt(weight)
        return np.asarray(root[:, None] * matrix * root)

    def cross(self, functions: Array) -> Array:
        """Φᵀ times functions: (row, function) -> (column, function), or (row,) -> (column,)."""
        return np.asarray(self.values.T @ functions)

    def apply(self, coefficients: Array) -> Array:
        """Φ u: (candidate, column) -> (candidate, row)."""
        return np.asarray((self.values @ np.ascontiguousarray(coefficients.T)).T)


@dataclass(frozen=True)
class LeafColumns(DenseColumns):
    """One column of zeros and ones per leaf of every tree, sparse: which leaf of each tree a row falls into."""

    @classmethod
    def of(cls, leaves: Leaves, sizes: Sequence[int]) -> LeafColumns:
        """From numbers of leaves, counted within each tree, and the number of leaves of each tree."""
        rows, trees = leaves.shape
        first = np.concatenate([[0], np.cumsum(sizes)])
        ones = (leaves + first[:-1]).astype(np.int32).ravel()
        starts = trees * np.arange(rows + 1)
        return cls(csr_array((np.ones(rows * trees), ones, starts), shape=(rows, int(first[-1]))))

    def gram(self, weight: Array) -> Array:
        """The weight of rows that two leaves share, less the product of their weights."""
        held = self.values.T @ weight
        weighted = self.values.T.multiply(weight).tocsr()
        product = np.outer(-held, held)
        for start in range(0, len(held), _LEAVES_AT_ONCE):
            part = slice(start, start + _LEAVES_AT_ONCE)
            product[part] += (weighted[part] @ self.values).toarray()
        return product

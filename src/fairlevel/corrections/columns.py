"""Columns Φ that may be added to the predictions of a model: an array, or a sparse one, (row, column)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from fairlevel.arrays import Array
from fairlevel.trees.protocol import Leaves


def leaf_columns(leaves: Leaves, sizes: Sequence[int]) -> csr_array:
    """One column of zeros and ones per leaf of every tree: which leaf of each tree a row falls into. From numbers of
    leaves, counted within each tree, and the number of leaves of each tree.
    """
    rows, trees = leaves.shape
    first = np.concatenate([[0], np.cumsum(sizes)])
    ones = (leaves + first[:-1]).astype(np.int32).ravel()
    return csr_array((np.ones(rows * trees), ones, trees * np.arange(rows + 1)), shape=(rows, int(first[-1])))


def gram(columns: Any, weight: Array) -> Array:
    """G = Φ̃ᵀWΦ̃ with centred columns, for row weights (row,) of any sum: (column, column)."""
    mean: Array = columns.T @ weight / weight.sum()
    if hasattr(columns, "toarray"):
        product = (columns.T.multiply(weight) @ columns).toarray()
        return np.asarray(product - weight.sum() * np.outer(mean, mean))
    centred = np.sqrt(weight)[:, None] * (columns - mean)
    return np.asarray(centred.T @ centred)


def spanned_by_rows(columns: Any) -> tuple[Any, Array | None]:
    """Where columns outnumber rows, as many columns as rows and an orthonormal basis of what the rows can tell apart,
    (column, row): with coefficients z of those, basis @ z are coefficients of these, of the same length.
    """
    rows, count = columns.shape
    if count <= rows:
        return columns, None
    dense = columns.toarray() if hasattr(columns, "toarray") else columns
    basis, triangle = np.linalg.qr(dense.T)
    return triangle.T, basis

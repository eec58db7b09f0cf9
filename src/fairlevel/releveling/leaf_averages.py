"""New values for the leaves of an ensemble, from averages over the rows in each leaf."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.candidates.columns import LeafColumns
from fairlevel.candidates.corrections import Disparity

STEPS = 8
EMPTY_ROWS = 5.0  # rows without disparity that every leaf counts besides its own
LONGEST = 3.0  # step: averages are too small by about so much where leaves hold few rows


class LeafAverages(NamedTuple):
    """Columns that lower fᵀPf and the values of leaves they are sums of. Shapes: columns (row, step), values (step,
    leaf of any tree).
    """

    columns: Array
    values: Array


def leaf_averages(leaves: LeafColumns, prediction: Array, rows: Index, disparity: Disparity) -> LeafAverages:
    r"""Each step moves every leaf ℓ of T trees against h = P f, what functions of A explain of the prediction there,

    .. math:: v_\ell = -\frac{s}{T} \, \frac{\sum_{i \in \ell} w_i h_i}{\sum_{i \in \ell} w_i + r}, \qquad \bar w = 1,

    with the step s that lowers fᵀPf most. Then f has moved, and so has h. An ensemble averages over its trees, which
    makes it a smoother of functions of X, as far as it tells rows apart. ``rows`` set the values. Each of them is left
    out of its own averages, else columns would fit them better than new rows.

    Shapes: prediction (row,); ``disparity`` is that of the prediction on ``rows``.
    """
    count, own = len(rows), leaves.take(rows)
    shares = 1 / (own.ones.shape[1] * (own.matrix.T @ (count * disparity.row_weight) + EMPTY_ROWS))
    itself = own.matrix @ shares
    moved, columns, values = prediction[rows], [], []
    for _ in range(STEPS):
        coefficients = disparity.coefficients(moved)
        explained = count * (disparity.functions @ coefficients)  # w h
        value = -shares * (own.matrix.T @ explained)
        column = leaves.matrix @ value
        column[rows] += itself * explained
        along = disparity.coefficients(column[rows])
        step = float(np.clip(-(along @ coefficients) / max(float(along @ along), 1e-300), 0, LONGEST))
        moved = moved + step * column[rows]
        columns.append(step * column)
        values.append(step * value)
    return LeafAverages(np.column_stack(columns), np.stack(values))

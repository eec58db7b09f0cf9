"""New values for the leaves of an ensemble, from averages over the rows in each leaf.

An ensemble averages over its trees, which makes it a smoother of functions of X, as far as it tells rows apart. Here it
smooths what is wrong with its own predictions: what functions of A explain of them, and how far they are from y.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.corrections.closed_form import Disparity
from fairlevel.releveling.joint_leaves import JointLeaves
from fairlevel.releveling.responses import Response

STEPS = 4
EMPTY_ROWS = 1.0  # rows without disparity and without error that every leaf counts besides its own
LONGEST = 3.0  # step: averages are too small by about so much where leaves hold few rows


class LeafRows(NamedTuple):
    """The leaves of all rows, the rows that set their values, the leaves of these, and how much each leaf counts, (leaf
    of any tree,).
    """

    leaves: JointLeaves
    rows: Index
    own: JointLeaves
    counts: Array

    @classmethod
    def of(cls, leaves: JointLeaves, rows: Index, row_weight: Array, values: Sequence[Array]) -> LeafRows:
        """Leaves count as their tree does, and a tree by the standard deviation of what it adds to the rows that set
        values, as a multiple of the mean of all trees. The first trees of a booster tell rows apart, its last ones
        hardly.

        Shapes: row_weight (row that sets values,), summing to 1; values of the leaves of each tree.
        """
        own = leaves.take(rows)
        sizes = [len(each) for each in values]
        held = np.split(own.over_rows(row_weight), np.cumsum(sizes)[:-1])
        spread = np.array([np.sqrt(part @ (each - part @ each) ** 2) for part, each in zip(held, values, strict=True)])
        relative = spread / spread.mean() if spread.any() else np.ones_like(spread)
        return cls(leaves, rows, own, np.repeat(relative, sizes))


class Averages:
    r"""Averages of a value g over the rows in each leaf ℓ of T trees, at any row the sum over its leaves of

    .. math:: v_\ell = \frac{\omega_\ell}{T} \, \frac{\sum_{i \in \ell} w_i g_i}{\sum_{i \in \ell} m_i + r \bar m} ,

    where ω is how much the tree of the leaf counts. Each row that sets values is left out of its own averages, else
    columns would fit them better than new rows.
    Shapes: mass m (row that sets values,).
    """

    def __init__(self, within: LeafRows, mass: Array) -> None:
        self._leaves, self.rows, self._own, counts = within
        self._shares = counts / (self._own.trees * (self._own.over_rows(mass) + EMPTY_ROWS * mass.mean()))
        self._itself = self._own.over_trees(self._shares)

    def __call__(self, values: Array) -> tuple[Array, Array]:
        """The column (row,) and v (leaf of any tree,) from w g (row that sets values,)."""
        by_leaf = self._shares * self._own.over_rows(values)
        column = self._leaves.over_trees(by_leaf)
        column[self.rows] -= self._itself * values
        return column, by_leaf


class LeafAverages(NamedTuple):
    """Columns that lower fᵀPf and the values of leaves they are sums of. Shapes: columns (row, step), values (step,
    leaf of any tree).
    """

    columns: Array
    values: Array


def leaf_averages(averages: Averages, prediction: Array, disparity: Disparity) -> LeafAverages:
    """Each step moves every leaf against the average of h = P f, what functions of A explain of the prediction there,
    by the step length that lowers fᵀPf most. Then f has moved, and so has h.

    Shapes: prediction (row,); ``disparity`` is that of the rows that set values, and their weights, of mean 1, are the
    mass of the averages.
    """
    rows, count = averages.rows, len(averages.rows)
    coefficients, columns, values = disparity.coefficients(prediction[rows]), [], []
    for _ in range(STEPS):
        column, value = averages(-count * (disparity.functions @ coefficients))  # −w h
        along = disparity.coefficients(column[rows])
        step = float(np.clip(-(along @ coefficients) / max(float(along @ along), 1e-300), 0, LONGEST))
        coefficients = coefficients + step * along
        columns.append(step * column)
        values.append(step * value)
    return LeafAverages(np.column_stack(columns), np.stack(values))


class LeafMove(NamedTuple):
    """What is added to the total of a model, (row,), and to its leaves, (leaf of any tree,)."""

    column: Array
    values: Array


def towards_target(within: LeafRows, total: Array, target: Array, row_weight: Array, response: Response) -> LeafMove:
    """Each step moves every leaf by the average error y − f of the rows in it, weighted by the curvature of the loss,
    by the step length that lowers the loss most. It ends where rows that are left out do not gain.

    Shapes: total (row,), target and row_weight (row that sets values,).
    """
    rows, weight = within.rows, len(within.rows) * row_weight
    mass = weight * response.curvature(total[rows])
    averages = Averages(within, mass)
    found = LeafMove(np.zeros_like(total), np.zeros(within.leaves.count))
    for _ in range(STEPS):
        error = weight * (target - response.prediction(total[rows] + found.column[rows]))
        column, value = averages(error)
        here = column[rows]
        step = float(np.clip((here @ error) / max(float(mass @ here**2), 1e-300), 0, LONGEST))
        if step == 0:
            break
        found = LeafMove(found.column + step * column, found.values + step * value)
    return found

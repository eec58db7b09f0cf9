"""Tree ensembles: leaves get other values or trees other weights, and the result is a model of the same type.

An ensemble averages over its trees, which makes it a smoother of functions of X, as far as it tells rows apart. By
default it smooths what is wrong with its own predictions: what functions of A explain of them, and how far they are
from y; each leaf moves by the average over the rows in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, identity

from fairlevel.arrays import Array, Index
from fairlevel.corrections.closed_form import RIDGES, Disparity
from fairlevel.releveling.existing import Corrections, ExistingModel, Family, Response
from fairlevel.trees.protocol import Leaves, TreeEnsemble, by_tree, leaf_columns

AVERAGES, TREES, LEAVES = "averages", "trees", "leaves"
LEAF_RIDGES = (0.1,)
STEPS = 4
EMPTY_ROWS = 1.0  # rows without disparity and without error that every leaf counts besides its own
LONGEST = 3.0  # step: averages are too small by about so much where leaves hold few rows


@dataclass(frozen=True)
class TreeModel(ExistingModel):
    """An ensemble on some rows; ``wrapped`` puts a changed ensemble in its place, such as the last step of a Pipeline.
    What its families write are values of leaves: (leaf of any tree,) of the start, (column, leaf of any tree).

    Shapes: leaves (row, tree).
    """

    ensemble: TreeEnsemble
    leaves: Leaves
    wrapped: Callable[[Any], Any]
    method: str

    @cached_property
    def values(self) -> list[Array]:
        """Of the leaves of each tree."""
        return self.ensemble.leaf_values

    @cached_property
    def columns(self) -> csr_array:
        """The leaves that each row falls into, (row, leaf of any tree)."""
        return leaf_columns(self.leaves, [*map(len, self.values)])

    @cached_property
    def offset(self) -> Array:
        """What the trees do not explain, (row,): a constant."""
        return np.asarray(self.total - self.columns @ np.concatenate(self.values))

    @property
    def seen(self) -> bool:
        """The leaves of every tree hold exactly as many of these rows as they held in training."""
        counts = self.ensemble.training_counts
        return bool(counts) and np.array_equal(self.columns.sum(axis=0), np.round(np.concatenate(counts)))

    def families(self, rows: Index, disparity: Disparity, target: Array | None) -> tuple[Family, ...]:
        values, weight = np.concatenate(self.values), disparity.row_weight
        if self.method == TREES:
            by_tree_written = values_of_trees(self.values)
            return (Family(self.total, by_tree(self.leaves, self.values), RIDGES, values, by_tree_written),)
        if self.method == LEAVES:
            return (Family(self.total, self.columns, LEAF_RIDGES, values, identity(len(values), format="csr")),)
        counts = counts_of_leaves(self.columns, rows, weight, self.values)
        averages = Averages(self.columns, rows, counts, len(rows) * weight)
        if target is None:
            level = leaf_averages(averages, self.prediction, disparity)
            return (Family(self.total, level.columns, RIDGES, values, level.values),)
        mass = len(rows) * weight * self.response.curvature(self.total[rows])
        towards = towards_target(Averages(self.columns, rows, counts, mass), self.total, target, weight, self.response)
        families = []
        for share in self.response.starts:
            start = self.total + share * towards.columns.sum(axis=1)
            level = leaf_averages(averages, self.response.prediction(start), disparity)
            start_written = values + share * towards.values.sum(axis=0)
            families.append(Family(start, level.columns, RIDGES, start_written, level.values, learned=True))
        return tuple(families)

    def changed(self, families: Sequence[Family], mixture: Sequence[Corrections], kept: float, constant: float) -> Any:
        joined = kept * np.concatenate(self.values)
        for family, part in zip(families, mixture, strict=True):
            joined = joined + part.kept[0] * family.start_written + part.coefficients[0] @ family.written
            kept, constant = kept + float(part.kept[0]), constant + float(part.intercepts[0])
        values = np.split(joined, np.cumsum([*map(len, self.values)])[:-1])
        values[0] = values[0] + constant + (kept - 1) * float(self.offset.mean())
        return self.wrapped(self.ensemble.with_leaf_values(values))


def values_of_trees(values: Sequence[Array]) -> Any:
    """What each tree adds to leaves, sparse, (tree, leaf of any tree), from the values of the leaves of each."""
    first = np.cumsum([0, *map(len, values)])
    return csr_array((np.concatenate(values), np.arange(first[-1]), first), shape=(len(values), first[-1]))


@dataclass(frozen=True)
class LeafMoves:
    """What is added to the total of a model in each step, (row, step), and to its leaves, (step, leaf of any tree)."""

    columns: Array
    values: Array


def counts_of_leaves(leaves: Any, rows: Index, row_weight: Array, values: Sequence[Array]) -> Array:
    """How much each leaf counts, (leaf of any tree,): as its tree does, and a tree by the standard deviation of what it
    adds to some rows, as a multiple of the mean of all trees. The first trees of a booster tell rows apart, its last
    ones hardly.

    Shapes: leaves (row, leaf of any tree), row_weight (some row,), summing to 1; values of the leaves of each tree.
    """
    sizes = [*map(len, values)]
    held = np.split(leaves[rows].T @ row_weight, np.cumsum(sizes)[:-1])
    spread = np.array([np.sqrt(part @ (each - part @ each) ** 2) for part, each in zip(held, values, strict=True)])
    relative = spread / spread.mean() if spread.any() else np.ones_like(spread)
    return np.repeat(relative, sizes)


class Averages:
    r"""Averages of a value g over the rows in each leaf ℓ of T trees, at any row the sum over its leaves of

    .. math:: v_\ell = \frac{\omega_\ell}{T} \, \frac{\sum_{i \in \ell} w_i g_i}{\sum_{i \in \ell} m_i + r \bar m} ,

    where ω is how much the leaf counts. Each row that sets values is left out of its own averages, else columns would
    fit them better than new rows.
    Shapes: leaves (row, leaf of any tree), rows that set values (row that sets values,), counts ω (leaf of any tree,),
    mass m (row that sets values,).
    """

    def __init__(self, leaves: Any, rows: Index, counts: Array, mass: Array) -> None:
        self.rows, self.mass, self._ones, self._own = rows, mass, leaves, leaves[rows]
        trees = self._ones.nnz / self._ones.shape[0]
        self._shares = counts / (trees * (self._own.T @ mass + EMPTY_ROWS * mass.mean()))
        self._itself = self._own @ self._shares

    def moves(self, push: Callable[[Array], Array], bend: Callable[[Array], float]) -> LeafMoves:
        """Steps that lower an objective: each averages its negative gradient over leaves, and goes as far as lowers it
        most. ``push`` is that gradient, and ``bend`` the second derivative along a move, both from how far the rows
        that set values have moved, or move, (row that sets values,).
        """
        moved, columns, values = np.zeros(len(self.rows)), [], []
        for _ in range(STEPS):
            force = push(moved)
            by_leaf = self._shares * (self._own.T @ force)
            column = self._ones @ by_leaf
            column[self.rows] -= self._itself * force
            here = column[self.rows]
            step = float(np.clip(here @ force / max(bend(here), 1e-300), 0, LONGEST))
            moved = moved + step * here
            columns.append(step * column)
            values.append(step * by_leaf)
        return LeafMoves(np.column_stack(columns), np.stack(values))


def leaf_averages(averages: Averages, prediction: Array, disparity: Disparity) -> LeafMoves:
    """Each step moves every leaf against the average of h = P f, what functions of A explain of the prediction there.

    Shapes: prediction (row,); ``disparity`` is that of the rows that set values, and their weights, of mean 1, are the
    mass of the averages.
    """
    before, count = prediction[averages.rows], len(averages.rows)
    return averages.moves(
        lambda moved: -count * (disparity.functions @ disparity.coefficients(before + moved)),  # −w h
        lambda move: count * float((disparity.coefficients(move) ** 2).sum()),
    )


def towards_target(averages: Averages, total: Array, target: Array, row_weight: Array, response: Response) -> LeafMoves:
    """Each step moves every leaf by the average error y − f of the rows in it. It is 0 where rows that are left out do
    not gain.

    Shapes: total (row,), target and row_weight (row that sets values,); the weights, of mean 1, times the curvature of
    the loss are the mass of the averages.
    """
    before, weight = total[averages.rows], len(averages.rows) * row_weight
    return averages.moves(
        lambda moved: weight * (target - response.prediction(before + moved)),
        lambda move: float(averages.mass @ move**2),
    )

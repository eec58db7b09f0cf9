"""Tree ensembles: leaves get other values or trees other weights, and the result is a model of the same type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, identity

from fairlevel.arrays import Array, Index
from fairlevel.corrections.closed_form import RIDGES, Disparity
from fairlevel.corrections.columns import leaf_columns
from fairlevel.releveling.existing import Corrections, ExistingModel, Family
from fairlevel.releveling.leaf_averages import Averages, counts_of_leaves, leaf_averages, towards_target
from fairlevel.trees.protocol import Leaves, TreeEnsemble, by_tree

AVERAGES, TREES, LEAVES = "averages", "trees", "leaves"
LEAF_RIDGES = (0.1,)


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

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
from fairlevel.corrections.columns import DenseColumns, LeafColumns
from fairlevel.releveling.existing import UNNAMED, Corrections, ExistingModel, Family, LogOdds, Response
from fairlevel.releveling.leaf_averages import Averages, counts_of_leaves, leaf_averages, towards_target
from fairlevel.trees.protocol import Leaves, TreeEnsemble, by_tree

AVERAGES, TREES, LEAVES = "averages", "trees", "leaves"
LEAF_RIDGES = (0.1,)


@dataclass(frozen=True)
class TreeModel(ExistingModel):
    """An ensemble on some rows; ``wrapped`` puts a changed ensemble in its place, such as the last step of a Pipeline.
    Of its families, ``written`` is what each column adds to leaves, (column, leaf of any tree).

    Shapes: leaves (row, tree).
    """

    ensemble: TreeEnsemble
    leaves: Leaves
    wrapped: Callable[[Any], Any]
    method: str

    @classmethod
    def of(cls, ensemble: TreeEnsemble, X: Any, original: Any, wrapped: Callable[[Any], Any], method: str) -> TreeModel:
        """Pass the rows through all trees."""
        classes = tuple(getattr(original, "classes_", UNNAMED)) if ensemble.log_odds else None
        response = LogOdds() if ensemble.log_odds else Response()
        chosen = AVERAGES if method == "auto" else method
        return cls(original, ensemble.total(X), response, classes, ensemble, ensemble.leaves(X), wrapped, chosen)

    @property
    def kind(self) -> str:
        return f"{len(self.values)} trees ({self.ensemble.library})"

    @cached_property
    def values(self) -> list[Array]:
        """Of the leaves of each tree."""
        return self.ensemble.leaf_values

    @cached_property
    def offset(self) -> Array:
        """What the trees do not explain, (row,): a constant."""
        return np.asarray(self.total - self.columns.apply(np.concatenate(self.values)[None])[0])

    @property
    def seen(self) -> bool:
        """The leaves of every tree hold exactly as many of these rows as they held in training."""
        counts = self.ensemble.training_counts
        held = self.columns.cross(np.ones(len(self.total)))
        return bool(counts) and np.array_equal(held, np.round(np.concatenate(counts)))

    @cached_property
    def columns(self) -> LeafColumns:
        """The leaves that each row falls into."""
        return LeafColumns.of(self.leaves, [len(own) for own in self.values])

    @property
    def unchanged(self) -> Any:
        return self.original

    def families(self, rows: Index, disparity: Disparity, target: Array | None) -> tuple[Family, ...]:
        if self.method == TREES:
            written = values_of_trees(self.values)
            return (Family(DenseColumns(by_tree(self.leaves, self.values)), RIDGES, written),)
        if self.method == LEAVES:
            every_leaf = csr_array(identity(self.columns.values.shape[1], format="csr"))
            return (Family(self.columns, LEAF_RIDGES, every_leaf),)
        weight = disparity.row_weight
        counts = counts_of_leaves(self.columns, rows, weight, self.values)
        averages = Averages(self.columns, rows, counts, len(rows) * weight)
        if target is None:
            level = leaf_averages(averages, self.prediction, disparity)
            return (Family(DenseColumns(level.columns), RIDGES, level.values),)
        mass = len(rows) * weight * self.response.curvature(self.total[rows])
        towards = towards_target(Averages(self.columns, rows, counts, mass), self.total, target, weight, self.response)
        families = []
        for share in self.response.starts:
            start = share * towards.columns.sum(axis=1)
            level = leaf_averages(averages, self.response.prediction(self.total + start), disparity)
            columns = DenseColumns(np.column_stack([level.columns, start]))
            written = np.vstack([level.values, share * towards.values.sum(axis=0)])
            families.append(Family(columns, RIDGES, written, starts=True))
        return tuple(families)

    def changed(self, families: Sequence[Family], mixture: Sequence[Corrections]) -> Any:
        kept = sum(float(part.kept[0]) for part in mixture)
        added = sum(part.coefficients[0] @ family.written for family, part in zip(families, mixture, strict=True))
        ends = np.cumsum([len(own) for own in self.values])
        values = np.split(kept * np.concatenate(self.values) + added, ends[:-1])
        values[0] += sum(float(part.intercepts[0]) for part in mixture) + (kept - 1) * float(self.offset.mean())
        return self.wrapped(self.ensemble.with_leaf_values(values))


def values_of_trees(values: Sequence[Array]) -> Any:
    """What each tree adds to leaves, sparse, (tree, leaf of any tree), from the values of the leaves of each."""
    first = np.cumsum([0, *(len(own) for own in values)])
    return csr_array((np.concatenate(values), np.arange(first[-1]), first), shape=(len(values), first[-1]))

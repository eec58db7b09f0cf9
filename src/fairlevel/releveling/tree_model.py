"""Tree ensembles: leaves get other values or trees other weights, and the result is a model of the same type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.corrections.closed_form import RIDGES, Disparity
from fairlevel.corrections.columns import DenseColumns, LeafColumns
from fairlevel.releveling.joint_leaves import JointLeaves
from fairlevel.releveling.leaf_averages import Averages, LeafRows, leaf_averages, towards_target
from fairlevel.releveling.protocol import UNNAMED, Change, Family
from fairlevel.releveling.responses import LogOdds, Number, Response
from fairlevel.trees import Output, TreeEnsemble
from fairlevel.trees.protocol import Leaves, by_tree

AVERAGES, TREES, LEAVES = "averages", "trees", "leaves"
LEAF_RIDGES = (0.1,)


@dataclass(frozen=True)
class TreeModel:
    """An ensemble on some rows; ``wrapped`` puts a changed ensemble in its place, such as the last step of a Pipeline.

    Shapes: total (row,), leaves (row, tree).
    """

    ensemble: TreeEnsemble
    total: Array
    leaves: Leaves
    wrapped: Callable[[Any], Any]
    original: Any
    method: str
    response: Response
    classes: tuple[Any, Any] | None

    @classmethod
    def of(cls, ensemble: TreeEnsemble, X: Any, original: Any, wrapped: Callable[[Any], Any], method: str) -> TreeModel:
        """Pass the rows through all trees."""
        response = _RESPONSES[ensemble.output]
        classes = None if ensemble.output is Output.NUMBER else _classes(original)
        chosen = AVERAGES if method == "auto" else method
        return cls(ensemble, ensemble.total(X), ensemble.leaves(X), wrapped, original, chosen, response, classes)

    @property
    def prediction(self) -> Array:
        return self.response.prediction(self.total)

    @property
    def kind(self) -> str:
        return f"{len(self.values)} trees ({self.ensemble.library})"

    @cached_property
    def values(self) -> list[Array]:
        return self.ensemble.leaf_values

    @cached_property
    def by_tree(self) -> Array:
        """What each tree adds, (row, tree)."""
        return by_tree(self.leaves, self.values)

    @cached_property
    def offset(self) -> Array:
        """What the trees do not explain, (row,): a constant."""
        rest: Array = self.total - self.joint_leaves.over_trees(np.concatenate(self.values))
        return rest

    @property
    def seen(self) -> bool:
        """The leaves of every tree hold exactly as many of these rows as they held in training."""
        counts = self.ensemble.training_counts
        return bool(counts) and all(
            np.array_equal(np.bincount(self.leaves[:, tree], minlength=len(own)), np.round(own))
            for tree, own in enumerate(counts)
        )

    @cached_property
    def sizes(self) -> list[int]:
        """How many leaves each tree has."""
        return [len(own) for own in self.values]

    @cached_property
    def joint_leaves(self) -> JointLeaves:
        """The leaves that each row falls into."""
        return JointLeaves.of(self.leaves, self.sizes)

    @cached_property
    def leaf_columns(self) -> LeafColumns:
        """The same as columns."""
        return LeafColumns.of(self.leaves, self.sizes)

    def families(self, rows: Index, disparity: Disparity, target: Array | None) -> Mapping[str, Family]:
        if self.method == TREES:
            return {TREES: Family(DenseColumns(self.by_tree), RIDGES)}
        if self.method == LEAVES:
            return {LEAVES: Family(self.leaf_columns, LEAF_RIDGES)}
        within = LeafRows.of(self.joint_leaves, rows, disparity.row_weight, self.values)
        averages = Averages(within, len(rows) * disparity.row_weight)
        if target is None:
            found = leaf_averages(averages, self.prediction, disparity)
            return {AVERAGES: Family(DenseColumns(found.columns), RIDGES, about=found.values)}
        towards = towards_target(within, self.total, target, disparity.row_weight, self.response)
        families = {}
        for share in self.response.starts:
            start = share * towards.column
            found = leaf_averages(averages, self.response.prediction(self.total + start), disparity)
            about = np.vstack([found.values, share * towards.values])
            families[f"{AVERAGES} from {share:g}"] = Family(DenseColumns(found.columns), RIDGES, about, start)
        return families

    def changed(self, change: Change, families: Mapping[str, Family]) -> Any:
        if change.nothing:
            return self.original
        values = [change.kept * own for own in self.values]
        for name, u in change.coefficients.items():
            more = self._added(name, u, families)
            values = [own + added for own, added in zip(values, more, strict=True)]
        offset = float(self.offset.mean())
        values[0] = values[0] + change.intercept + (change.kept - 1) * offset
        return self.wrapped(self.ensemble.with_leaf_values(values))

    def _added(self, name: str, u: Array, families: Mapping[str, Family]) -> list[Array]:
        """What the coefficients of a family add to the leaves of each tree."""
        if name == TREES:
            return [weight * own for weight, own in zip(u, self.values, strict=True)]
        by_leaf = u if name == LEAVES else u @ families[name].about
        return np.split(by_leaf, np.cumsum(self.sizes)[:-1])


def _classes(model: Any) -> tuple[Any, Any]:
    """Both classes of a classifier."""
    if not hasattr(model, "classes_"):
        return UNNAMED
    first, second = model.classes_
    return first, second


_RESPONSES: dict[Output, Response] = {Output.NUMBER: Number(), Output.LOG_ODDS: LogOdds()}

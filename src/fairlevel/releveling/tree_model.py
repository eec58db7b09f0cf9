"""Tree ensembles: trees are weighted anew, leaves get other values, and the result is a model of the same type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.candidates.columns import DenseColumns, LeafColumns
from fairlevel.candidates.corrections import Disparity
from fairlevel.releveling.grown_trees import RIDGES, by_tree, grow_trees
from fairlevel.releveling.protocol import UNNAMED, Change, Family
from fairlevel.releveling.responses import LogOdds, Number, Response
from fairlevel.trees import NotASumOfLeaves, Output, TreeEnsemble
from fairlevel.trees.lightgbm_text import LightGBMText
from fairlevel.trees.protocol import GrowingEnsemble, Leaves

TREES, LEAVES, GROWN = "trees", "leaves", "grown"
TREE_RIDGES = (1e-3, 3e-2, 1.0)
LEAF_RIDGES = (0.1,)
MOST_LEAVES = 3_000  # of all trees, up to which leaves are used without being asked for


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
    methods: tuple[str, ...]
    response: Response
    classes: tuple[Any, Any] | None
    features: Array | None
    seed: int

    @classmethod
    def of(
        cls, ensemble: TreeEnsemble, X: Any, original: Any, wrapped: Callable[[Any], Any], method: str, seed: int
    ) -> TreeModel:
        """Pass the rows through all trees."""
        sizes = [len(values) for values in ensemble.leaf_values]
        features = ensemble.features(X) if isinstance(ensemble, GrowingEnsemble) else None
        chosen: tuple[str, ...] = (method,)
        if method == "auto":
            without = (TREES, LEAVES) if sum(sizes) <= MOST_LEAVES else (TREES,)
            chosen = without if features is None else (GROWN,)  # which holds the weights of trees, too
        if method == GROWN and features is None:
            raise NotASumOfLeaves("Trees can be added to LightGBM models of numbers only.")
        response = _RESPONSES[ensemble.output]
        classes = None if ensemble.output is Output.NUMBER else _classes(original)
        return cls(
            ensemble,
            ensemble.total(X),
            ensemble.leaves(X),
            wrapped,
            original,
            chosen,
            response,
            classes,
            features,
            seed,
        )

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
        return np.column_stack([values[self.leaves[:, tree]] for tree, values in enumerate(self.values)])

    @cached_property
    def offset(self) -> Array:
        """What the trees do not explain, (row,): a constant."""
        rest: Array = self.total - self.by_tree.sum(axis=1)
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
    def _families(self) -> dict[str, Family]:
        made = {
            TREES: lambda: Family(DenseColumns(self.by_tree), TREE_RIDGES),
            LEAVES: lambda: Family(LeafColumns.of(self.leaves, [len(own) for own in self.values]), LEAF_RIDGES),
        }
        return {name: made[name]() for name in self.methods if name in made}

    def families(self, rows: Index, disparity: Disparity) -> Mapping[str, Family]:
        if GROWN not in self.methods or self.features is None:
            return self._families
        text = grow_trees(self.features, self.prediction, rows, disparity, self.seed)
        columns = DenseColumns(np.column_stack([self.by_tree, by_tree(text, self.features)]))
        return {**self._families, GROWN: Family(columns, RIDGES, about=text.write())}

    def changed(self, change: Change, families: Mapping[str, Family]) -> Any:
        if change.nothing:
            return self.original
        values = [change.kept * own for own in self.values]
        both = change.coefficients.get(GROWN, np.zeros(len(values)))  # own trees and new ones
        weights = change.coefficients.get(TREES, np.zeros(len(values))) + both[: len(values)]
        values = [own + weight * before for own, weight, before in zip(values, weights, self.values, strict=True)]
        if LEAVES in change.coefficients:
            ends = np.cumsum([len(own) for own in values])[:-1]
            added = np.split(change.coefficients[LEAVES], ends)
            values = [own + more for own, more in zip(values, added, strict=True)]
        offset = float(self.offset.mean())
        values[0] = values[0] + change.intercept + (change.kept - 1) * offset
        if len(both) == len(values) or not isinstance(self.ensemble, GrowingEnsemble):
            return self.wrapped(self.ensemble.with_leaf_values(values))
        text = LightGBMText.read(families[GROWN].about)
        added = [weight * own for weight, own in zip(both[len(values) :], text.leaf_values, strict=True)]
        return self.wrapped(self.ensemble.with_trees(values, text.with_leaf_values(added)))


def _classes(model: Any) -> tuple[Any, Any]:
    """Both classes of a classifier."""
    if not hasattr(model, "classes_"):
        return UNNAMED
    first, second = model.classes_
    return first, second


_RESPONSES: dict[Output, Response] = {Output.NUMBER: Number(), Output.LOG_ODDS: LogOdds()}

"""scikit-learn: forests, gradient boosting and histogram-based gradient boosting, regressors and classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.trees.protocol import Leaves, NotASumOfLeaves, leaf_numbers, no_sum_of_leaves


@dataclass(frozen=True)
class TreeSum:
    """Forests, whose trees are averaged, and gradient boosting, whose trees are multiplied by the step size."""

    model: Any

    def __post_init__(self) -> None:
        if getattr(self.model, "n_outputs_", 1) != 1:
            raise NotASumOfLeaves(f"The forest has {self.model.n_outputs_} outputs; one number per row is needed.")
        if not self.log_odds:
            return
        if not hasattr(self.model, "decision_function"):  # changed probabilities could leave [0, 1]
            raise NotASumOfLeaves(
                "Leaves of a forest that classifies hold probabilities, which must stay within [0, 1]."
            )
        if self.model.loss != "log_loss":
            raise NotASumOfLeaves(f"Probabilities with loss={self.model.loss!r} are not read.")
        if len(self.model.classes_) != 2:
            raise NotASumOfLeaves(f"The model has {len(self.model.classes_)} classes; two are needed.")

    @property
    def log_odds(self) -> bool:
        return hasattr(self.model, "classes_")

    def trees(self, model: Any) -> list[Any]:
        """Those of a model of this kind."""
        return [estimator.tree_ for estimator in np.ravel(model.estimators_)]

    def nodes(self, tree: Any) -> dict[str, Any]:
        """Which nodes are leaves, how many training rows they held, and their values, each (node,). What is written
        into the values changes the tree.
        """
        leaf = tree.children_left == -1
        return {"is_leaf": leaf, "count": tree.n_node_samples, "value": tree.value[:, 0, 0]}

    @property
    def scale(self) -> float:
        """What stored values are multiplied by."""
        return float(getattr(self.model, "learning_rate", 1 / len(self.model.estimators_)))

    @cached_property
    def _leaf_nodes(self) -> list[Index]:
        return [np.flatnonzero(self.nodes(tree)["is_leaf"]) for tree in self.trees(self.model)]

    def _of_leaves(self, name: str) -> list[Array]:
        """What the nodes that are leaves hold, (leaf,) for each tree."""
        trees = zip(self.trees(self.model), self._leaf_nodes, strict=True)
        return [np.asarray(self.nodes(tree)[name], dtype=np.float64)[leaves] for tree, leaves in trees]

    @property
    def leaf_values(self) -> list[Array]:
        return [self.scale * values for values in self._of_leaves("value")]

    @property
    def training_counts(self) -> list[Array]:
        """Not for bootstrap samples, which hold some rows several times."""
        sampled = getattr(self.model, "bootstrap", False) or getattr(self.model, "subsample", 1.0) < 1
        return [] if sampled else self._of_leaves("count")

    def leaves(self, X: Any) -> Leaves:
        rows = np.ascontiguousarray(X, dtype=np.float32)  # as scikit-learn's trees read them
        nodes = np.column_stack([tree.apply(rows) for tree in self.trees(self.model)])
        return leaf_numbers(nodes, self._leaf_nodes)

    def total(self, X: Any) -> Array:
        answer = self.model.decision_function if self.log_odds else self.model.predict
        return np.asarray(answer(X), dtype=np.float64)

    def with_leaf_values(self, values: Sequence[Array]) -> Any:
        changed = deepcopy(self.model)
        for tree, leaves, own in zip(self.trees(changed), self._leaf_nodes, values, strict=True):
            self.nodes(tree)["value"][leaves] = own / self.scale
        return changed


class HistogramBoosting(TreeSum):
    """Histogram-based gradient boosting, with its own reading of categories and missing values."""

    scale = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model.loss not in ("squared_error", "absolute_error", "quantile", "log_loss"):
            raise no_sum_of_leaves("loss", self.model.loss)

    def trees(self, model: Any) -> list[Any]:
        return [predictor for (predictor,) in model._predictors]

    def nodes(self, tree: Any) -> Any:
        return tree.nodes

    def leaves(self, X: Any) -> Leaves:
        """scikit-learn has no ``apply`` here: copies of the trees predict the numbers of their leaves."""
        rows = self.model._preprocess_X(X, reset=False)
        categories = self.model._bin_mapper.make_known_categories_bitsets()
        numbers = []
        for tree, leaves in zip(self.trees(self.model), self._leaf_nodes, strict=True):
            copy = deepcopy(tree)
            copy.nodes["value"][leaves] = np.arange(len(leaves))
            numbers.append(copy.predict(rows, *categories, 1))
        return np.column_stack(numbers).astype(np.int32)

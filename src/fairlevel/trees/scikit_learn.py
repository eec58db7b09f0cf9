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

    @property
    def scale(self) -> float:
        """What stored values are multiplied by."""
        return float(getattr(self.model, "learning_rate", 1 / len(self.model.estimators_)))

    def nodes(self, model: Any) -> list[Any]:
        """For each tree of a model of this kind which nodes are leaves, how many training rows they held, and their
        values, each (node,). What is written into the values changes the model.
        """
        trees = [estimator.tree_ for estimator in np.ravel(model.estimators_)]
        return [
            {"is_leaf": tree.children_left == -1, "count": tree.n_node_samples, "value": tree.value[:, 0, 0]}
            for tree in trees
        ]

    @cached_property
    def _leaf_nodes(self) -> list[Index]:
        return [np.flatnonzero(nodes["is_leaf"]) for nodes in self.nodes(self.model)]

    def _of_leaves(self, name: str) -> list[Array]:
        """What the nodes that are leaves hold, (leaf,) for each tree."""
        trees = zip(self.nodes(self.model), self._leaf_nodes, strict=True)
        return [np.asarray(nodes[name], dtype=np.float64)[leaves] for nodes, leaves in trees]

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
        nodes = [estimator.tree_.apply(rows) for estimator in np.ravel(self.model.estimators_)]
        return leaf_numbers(np.column_stack(nodes), self._leaf_nodes)

    def total(self, X: Any) -> Array:
        answer = self.model.decision_function if self.log_odds else self.model.predict
        return np.asarray(answer(X), dtype=np.float64)

    def with_leaf_values(self, values: Sequence[Array]) -> Any:
        changed = deepcopy(self.model)
        for nodes, leaves, own in zip(self.nodes(changed), self._leaf_nodes, values, strict=True):
            nodes["value"][leaves] = own / self.scale
        return changed


class HistogramBoosting(TreeSum):
    """Histogram-based gradient boosting, with its own reading of categories and missing values."""

    scale = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model.loss not in ("squared_error", "absolute_error", "quantile", "log_loss"):
            raise no_sum_of_leaves("loss", self.model.loss)

    def nodes(self, model: Any) -> list[Any]:
        return [predictor.nodes for (predictor,) in model._predictors]

    def leaves(self, X: Any) -> Leaves:
        """scikit-learn has no ``apply`` here: copies of the trees predict the numbers of their leaves."""
        rows = self.model._preprocess_X(X, reset=False)
        categories = self.model._bin_mapper.make_known_categories_bitsets()
        numbers = []
        for (tree,), leaves in zip(deepcopy(self.model._predictors), self._leaf_nodes, strict=True):
            tree.nodes["value"][leaves] = np.arange(len(leaves))
            numbers.append(tree.predict(rows, *categories, 1))
        return np.column_stack(numbers).astype(np.int32)

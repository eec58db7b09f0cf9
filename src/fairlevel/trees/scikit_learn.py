"""scikit-learn: forests, gradient boosting and histogram-based gradient boosting, regressors and classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.trees.protocol import Leaves, NotASumOfLeaves, Output, leaf_numbers, no_sum_of_leaves


@dataclass(frozen=True)
class TreeSum:
    """Forests, whose trees are averaged, and gradient boosting, whose trees are multiplied by the step size."""

    model: Any

    library: ClassVar[str] = "scikit-learn"
    output: ClassVar[Output] = Output.NUMBER

    def __post_init__(self) -> None:
        if getattr(self.model, "n_outputs_", 1) != 1:
            raise NotASumOfLeaves(f"The forest has {self.model.n_outputs_} outputs; one number per row is needed.")

    @cached_property
    def _trees(self) -> list[Any]:
        return [estimator.tree_ for estimator in np.ravel(self.model.estimators_)]

    @property
    def _scale(self) -> float:
        return float(getattr(self.model, "learning_rate", 1 / len(self._trees)))

    @cached_property
    def _leaf_nodes(self) -> list[Index]:
        return [np.flatnonzero(tree.children_left == -1) for tree in self._trees]

    @property
    def leaf_values(self) -> list[Array]:
        return [
            self._scale * tree.value[nodes, 0, 0] for tree, nodes in zip(self._trees, self._leaf_nodes, strict=True)
        ]

    @property
    def training_counts(self) -> list[Array]:
        """Not for bootstrap samples, which hold some rows several times."""
        if getattr(self.model, "bootstrap", False) or getattr(self.model, "subsample", 1.0) < 1:
            return []
        return [
            tree.n_node_samples[nodes].astype(np.float64)
            for tree, nodes in zip(self._trees, self._leaf_nodes, strict=True)
        ]

    def leaves(self, X: Any) -> Leaves:
        rows = np.ascontiguousarray(X, dtype=np.float32)  # as scikit-learn's trees read them
        nodes = np.column_stack([tree.apply(rows) for tree in self._trees])
        return leaf_numbers(nodes.astype(np.int64), self._leaf_nodes)

    def total(self, X: Any) -> Array:
        return np.asarray(self.model.predict(X), dtype=np.float64)

    def with_leaf_values(self, values: Sequence[Array]) -> Any:
        changed = deepcopy(self.model)
        for estimator, nodes, own in zip(np.ravel(changed.estimators_), self._leaf_nodes, values, strict=True):
            estimator.tree_.value[nodes, 0, 0] = own / self._scale
        return changed


@dataclass(frozen=True)
class BoostedLogOdds(TreeSum):
    """``GradientBoostingClassifier`` for two classes."""

    output: ClassVar[Output] = Output.LOG_ODDS

    def __post_init__(self) -> None:
        _refuse_many_classes(self.model)
        if self.model.loss != "log_loss":
            raise NotASumOfLeaves(f"Probabilities with loss={self.model.loss!r} are not read.")

    def total(self, X: Any) -> Array:
        return np.asarray(self.model.decision_function(X), dtype=np.float64)


class ForestProbability(TreeSum):
    """Forests that classify: leaves hold probabilities, and changed ones could add up to less than 0 or more than 1."""

    def __post_init__(self) -> None:
        raise NotASumOfLeaves("Leaves of a forest that classifies hold probabilities, which must stay within [0, 1].")


@dataclass(frozen=True)
class HistogramBoosting:
    """Histogram-based gradient boosting, with its own reading of categories and missing values."""

    model: Any

    library: ClassVar[str] = "scikit-learn"
    output: ClassVar[Output] = Output.NUMBER

    def __post_init__(self) -> None:
        if self.model.loss not in ("squared_error", "absolute_error", "quantile"):
            raise no_sum_of_leaves("loss", self.model.loss)

    @cached_property
    def _trees(self) -> list[Any]:
        return [predictor for (predictor,) in self.model._predictors]

    @cached_property
    def _leaf_nodes(self) -> list[Index]:
        return [np.flatnonzero(tree.nodes["is_leaf"]) for tree in self._trees]

    @property
    def leaf_values(self) -> list[Array]:
        return [
            tree.nodes["value"][nodes].astype(np.float64)
            for tree, nodes in zip(self._trees, self._leaf_nodes, strict=True)
        ]

    @property
    def training_counts(self) -> list[Array]:
        return [
            tree.nodes["count"][nodes].astype(np.float64)
            for tree, nodes in zip(self._trees, self._leaf_nodes, strict=True)
        ]

    def leaves(self, X: Any) -> Leaves:
        """scikit-learn has no ``apply`` here: copies of the trees predict the numbers of their leaves."""
        rows = self.model._preprocess_X(X, reset=False)
        categories = self.model._bin_mapper.make_known_categories_bitsets()
        found = np.empty((len(rows), len(self._trees)), dtype=np.int32)
        for number, (tree, nodes) in enumerate(zip(self._trees, self._leaf_nodes, strict=True)):
            copy = deepcopy(tree)
            copy.nodes["value"][nodes] = np.arange(len(nodes))
            found[:, number] = copy.predict(rows, *categories, 1)
        return found

    def total(self, X: Any) -> Array:
        return np.asarray(self.model.predict(X), dtype=np.float64)

    def with_leaf_values(self, values: Sequence[Array]) -> Any:
        changed = deepcopy(self.model)
        for (tree,), nodes, own in zip(changed._predictors, self._leaf_nodes, values, strict=True):
            tree.nodes["value"][nodes] = own
        return changed


@dataclass(frozen=True)
class HistogramLogOdds(HistogramBoosting):
    """The same for two classes."""

    output: ClassVar[Output] = Output.LOG_ODDS

    def __post_init__(self) -> None:
        _refuse_many_classes(self.model)

    def total(self, X: Any) -> Array:
        return np.asarray(self.model.decision_function(X), dtype=np.float64)


def _refuse_many_classes(model: Any) -> None:
    if len(model.classes_) != 2:
        raise NotASumOfLeaves(f"The model has {len(model.classes_)} classes; two are needed.")

"""XGBoost: ``Booster``, ``XGBRegressor`` and ``XGBClassifier``, through the model's JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.trees.protocol import Leaves, NotASumOfLeaves, Output, leaf_numbers, no_sum_of_leaves

_IDENTITY = ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror", "reg:linear")
_LOGISTIC = ("binary:logistic",)


@dataclass(frozen=True)
class XGBoostEnsemble:
    """Gradient boosting or DART; of an early-stopped ``XGBRegressor`` the trees up to its best iteration."""

    model: Any

    library: ClassVar[str] = "xgboost"

    def __post_init__(self) -> None:
        if self._objective not in (*_IDENTITY, *_LOGISTIC):
            raise no_sum_of_leaves("objective", self._objective)
        if self._json["learner"]["gradient_booster"]["name"] not in ("gbtree", "dart"):
            raise NotASumOfLeaves("A linear booster has no trees.")
        targets = self._json["learner"]["learner_model_param"].get("num_target", "1")
        sizes = {tree["tree_param"].get("size_leaf_vector", "1") for tree in self._trees}
        if not {targets, *sizes} <= {"0", "1"}:
            raise NotASumOfLeaves("The booster has several outputs; one number per row is needed.")

    @property
    def output(self) -> Output:
        return Output.LOG_ODDS if self._objective in _LOGISTIC else Output.NUMBER

    @property
    def _objective(self) -> str:
        return str(self._json["learner"]["objective"]["name"])

    @cached_property
    def _booster(self) -> Any:
        return self.model if _is_booster(self.model) else self.model.get_booster()

    @cached_property
    def _json(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self._booster.save_raw("json"))
        return content

    @property
    def _trees(self) -> list[dict[str, Any]]:
        trees: list[dict[str, Any]] = _ensemble(self._json)["model"]["trees"]
        return trees

    @cached_property
    def _used(self) -> int:
        """Trees that a prediction uses: a booster alone uses all, other models those up to their best iteration."""
        best = None if _is_booster(self.model) else self._booster.attr("best_iteration")
        if best is None:
            return len(self._trees)
        per_round = len(self._trees) // int(self._booster.num_boosted_rounds())
        return per_round * (int(best) + 1)

    @cached_property
    def _leaf_nodes(self) -> list[Index]:
        return [np.flatnonzero(np.array(tree["left_children"]) == -1) for tree in self._trees[: self._used]]

    @cached_property
    def _weights(self) -> Array:
        """By what each tree is multiplied; DART keeps a weight for each."""
        weights = self._json["learner"]["gradient_booster"].get("weight_drop", [1.0] * len(self._trees))
        return np.array(weights[: self._used], dtype=np.float64)

    @property
    def leaf_values(self) -> list[Array]:
        return [
            weight * np.array(tree["split_conditions"], dtype=np.float32)[nodes].astype(np.float64)
            for weight, tree, nodes in zip(self._weights, self._trees, self._leaf_nodes, strict=False)
        ]

    @property
    def training_counts(self) -> list[Array]:
        """Sums of second derivatives, which are counts for a squared error without weights."""
        if self.output is Output.LOG_ODDS:
            return []
        return [
            np.array(tree["sum_hessian"], dtype=np.float64)[nodes]
            for tree, nodes in zip(self._trees, self._leaf_nodes, strict=False)
        ]

    def leaves(self, X: Any) -> Leaves:
        if _is_booster(self.model):
            nodes = self._booster.predict(_matrix(X, self._booster), pred_leaf=True)
        else:
            nodes = self.model.apply(X)
        return leaf_numbers(
            np.asarray(nodes).reshape(len(nodes), -1)[:, : self._used].astype(np.int64), self._leaf_nodes
        )

    def total(self, X: Any) -> Array:
        given = _matrix(X, self._booster) if _is_booster(self.model) else X
        return np.asarray(self.model.predict(given, output_margin=True), dtype=np.float64)

    def with_leaf_values(self, values: Sequence[Array]) -> Any:
        import xgboost

        content = deepcopy(self._json)
        trees = _ensemble(content)["model"]["trees"]
        for tree, nodes, weight, own in zip(trees, self._leaf_nodes, self._weights, values, strict=False):
            for node, value in zip(nodes.tolist(), (own / weight if weight else own).tolist(), strict=True):
                tree["split_conditions"][node] = tree["base_weights"][node] = value
        booster = xgboost.Booster(model_file=bytearray(json.dumps(content).encode()))
        if _is_booster(self.model):
            booster.set_attr(best_iteration=None, best_score=None)  # read back as an XGBRegressor, it would use fewer
            return booster
        changed = deepcopy(self.model)
        changed._Booster = booster
        return changed


def _ensemble(content: dict[str, Any]) -> dict[str, Any]:
    """The part of the JSON with the trees; DART keeps it one level deeper."""
    outer: dict[str, Any] = content["learner"]["gradient_booster"]
    inner: dict[str, Any] = outer.get("gbtree", outer)
    return inner


def _is_booster(model: Any) -> bool:
    return type(model).__name__ == "Booster"


def _matrix(X: Any, booster: Any) -> Any:
    import xgboost

    if isinstance(X, xgboost.DMatrix):
        return X
    names = None if hasattr(X, "columns") else booster.feature_names
    return xgboost.DMatrix(X, enable_categorical=True, feature_names=names)

"""XGBoost: ``Booster``, ``XGBRegressor`` and ``XGBClassifier``, through the model's JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.trees.protocol import SEVERAL_OUTPUTS, Leaves, NotASumOfLeaves, leaf_numbers, no_sum_of_leaves

_IDENTITY = ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror", "reg:linear")
_LOGISTIC = ("binary:logistic",)


@dataclass(frozen=True)
class XGBoostEnsemble:
    """Gradient boosting or DART; of an early-stopped ``XGBRegressor`` the trees up to its best iteration."""

    model: Any

    def __post_init__(self) -> None:
        learner = self._json["learner"]
        if self._objective not in (*_IDENTITY, *_LOGISTIC):
            raise no_sum_of_leaves("objective", self._objective)
        if learner["gradient_booster"]["name"] not in ("gbtree", "dart"):
            raise NotASumOfLeaves("A linear booster has no trees.")
        outputs = {tree["tree_param"].get("size_leaf_vector", "1") for tree in _trees(self._json)}
        if not {learner["learner_model_param"].get("num_target", "1"), *outputs} <= {"0", "1"}:
            raise NotASumOfLeaves(f"The booster {SEVERAL_OUTPUTS}")

    @property
    def log_odds(self) -> bool:
        return self._objective in _LOGISTIC

    @property
    def _objective(self) -> str:
        return str(self._json["learner"]["objective"]["name"])

    @property
    def _alone(self) -> bool:
        """Whether the model is a booster, and no object of the interface like scikit-learn's."""
        return type(self.model).__name__ == "Booster"

    @cached_property
    def _booster(self) -> Any:
        """The trees that a prediction uses: a booster alone uses all, other models those up to the best iteration. A
        linear booster has none.
        """
        if self._alone:
            return self.model
        booster = self.model.get_booster()
        best = booster.attr("best_iteration")
        name = json.loads(booster.save_config())["learner"]["gradient_booster"]["name"]
        return booster if best is None or name == "gblinear" else booster[: int(best) + 1]

    @cached_property
    def _json(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self._booster.save_raw("json"))
        return content

    @cached_property
    def _leaf_nodes(self) -> list[Index]:
        return [np.flatnonzero(np.array(tree["left_children"]) == -1) for tree in _trees(self._json)]

    @property
    def _weights(self) -> list[float]:
        """By what each tree is multiplied; DART keeps a weight for each."""
        weights = self._json["learner"]["gradient_booster"].get("weight_drop")
        return [1.0] * len(_trees(self._json)) if weights is None else list(weights)

    def _of_leaves(self, name: str) -> list[Array]:
        """Numbers of the nodes that are leaves, which are stored in 32 bits, (leaf,) for each tree."""
        numbers = (np.array(tree[name], dtype=np.float32).astype(np.float64) for tree in _trees(self._json))
        return [values[nodes] for values, nodes in zip(numbers, self._leaf_nodes, strict=True)]

    @property
    def leaf_values(self) -> list[Array]:
        values = self._of_leaves("split_conditions")
        return [weight * own for weight, own in zip(self._weights, values, strict=True)]

    @property
    def training_counts(self) -> list[Array]:
        """Sums of second derivatives, which are counts for a squared error without weights."""
        return [] if self.log_odds else self._of_leaves("sum_hessian")

    def leaves(self, X: Any) -> Leaves:
        return leaf_numbers(self._predicted(X, pred_leaf=True).reshape(-1, len(self._leaf_nodes)), self._leaf_nodes)

    def total(self, X: Any) -> Array:
        predict = self._predicted if self._alone else self.model.predict
        return np.asarray(predict(X, output_margin=True), dtype=np.float64)

    def _predicted(self, X: Any, **what: bool) -> Any:
        import xgboost

        names = None if hasattr(X, "columns") else self._booster.feature_names
        rows = X if isinstance(X, xgboost.DMatrix) else xgboost.DMatrix(X, enable_categorical=True, feature_names=names)
        return self._booster.predict(rows, **what)

    def with_leaf_values(self, values: Sequence[Array]) -> Any:
        import xgboost

        content = deepcopy(self._json)
        parts = zip(_trees(content), self._leaf_nodes, self._weights, values, strict=True)
        for tree, nodes, weight, own in parts:
            for node, value in zip(nodes.tolist(), (own / weight if weight else own).tolist(), strict=True):
                tree["split_conditions"][node] = tree["base_weights"][node] = value
        booster = xgboost.Booster(model_file=bytearray(json.dumps(content).encode()))
        booster.set_attr(best_iteration=None, best_score=None)  # all of its trees count, however it is read
        if self._alone:
            return booster
        changed = deepcopy(self.model)
        changed._Booster = booster
        return changed


def _trees(content: dict[str, Any]) -> list[dict[str, Any]]:
    """Of the JSON; DART keeps them one level deeper."""
    outer: dict[str, Any] = content["learner"]["gradient_booster"]
    trees: list[dict[str, Any]] = outer.get("gbtree", outer)["model"]["trees"] if outer["name"] != "gblinear" else []
    return trees

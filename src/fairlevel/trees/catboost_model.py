"""CatBoost: ``CatBoost``, ``CatBoostRegressor`` and ``CatBoostClassifier`` with symmetric trees, by their JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from fairlevel.arrays import Array
from fairlevel.trees.protocol import SEVERAL_OUTPUTS, Leaves, NotASumOfLeaves, no_sum_of_leaves

_IDENTITY = ("RMSE", "MAE", "Quantile", "Huber", "MAPE", "LogCosh", "Expectile", "Lq")
_LOGISTIC = ("Logloss", "CrossEntropy")


@dataclass(frozen=True)
class CatBoostEnsemble:
    """Symmetric trees of numeric features; CatBoost's JSON cannot carry the statistics of its categories."""

    model: Any

    def __post_init__(self) -> None:
        if "oblivious_trees" not in self._json:
            raise NotASumOfLeaves("Only symmetric trees can be read (grow_policy='SymmetricTree').")
        if self._json.get("ctr_data") or self._json["features_info"].get("categorical_features"):
            raise NotASumOfLeaves("CatBoost's JSON cannot carry models with categorical features.")
        if len(self._json["scale_and_bias"][1]) != 1:
            raise NotASumOfLeaves(f"The model {SEVERAL_OUTPUTS}")
        if self._loss not in (*_IDENTITY, *_LOGISTIC):
            raise no_sum_of_leaves("loss_function", self._loss)

    @property
    def log_odds(self) -> bool:
        return self._loss in _LOGISTIC

    @property
    def _loss(self) -> str:
        return str(self.model.get_all_params().get("loss_function", "RMSE")).partition(":")[0]

    @cached_property
    def _json(self) -> dict[str, Any]:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            self.model.save_model(str(path), format="json")
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content

    @property
    def _scale(self) -> float:
        return float(self._json["scale_and_bias"][0])

    def _of_leaves(self, name: str) -> list[Array]:
        return [np.array(tree[name], dtype=np.float64) for tree in self._json["oblivious_trees"]]

    @property
    def leaf_values(self) -> list[Array]:
        return [self._scale * values for values in self._of_leaves("leaf_values")]

    @property
    def training_counts(self) -> list[Array]:
        return self._of_leaves("leaf_weights")

    def leaves(self, X: Any) -> Leaves:
        return np.asarray(self.model.calc_leaf_indexes(X), dtype=np.int32)

    def total(self, X: Any) -> Array:
        return np.asarray(self.model.predict(X, prediction_type="RawFormulaVal"), dtype=np.float64)

    def with_leaf_values(self, values: Sequence[Array]) -> Any:
        trees = [
            tree | {"leaf_values": (own / self._scale).tolist()}
            for tree, own in zip(self._json["oblivious_trees"], values, strict=True)
        ]
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            path.write_text(json.dumps(self._json | {"oblivious_trees": trees}), encoding="utf-8")
            return type(self.model)().load_model(str(path), format="json")

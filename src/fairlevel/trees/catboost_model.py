"""CatBoost: ``CatBoost``, ``CatBoostRegressor`` and ``CatBoostClassifier``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    """Trees of any shape, of numbers and categories."""

    model: Any

    def __post_init__(self) -> None:
        if np.size(self.model.get_scale_and_bias()[1]) != 1:
            raise NotASumOfLeaves(f"The model {SEVERAL_OUTPUTS}")
        if self._loss not in (*_IDENTITY, *_LOGISTIC):
            raise no_sum_of_leaves("loss_function", self._loss)

    @property
    def log_odds(self) -> bool:
        return self._loss in _LOGISTIC

    @property
    def _loss(self) -> str:
        return str(self.model.get_all_params().get("loss_function", "RMSE")).partition(":")[0]

    @property
    def _scale(self) -> float:
        return float(self.model.get_scale_and_bias()[0])

    def _by_tree(self, of_leaves: Any) -> list[Array]:
        sizes = np.array(self.model.get_tree_leaf_counts(), dtype=np.int64)
        return np.split(np.array(of_leaves, dtype=np.float64), np.cumsum(sizes)[:-1])

    @property
    def leaf_values(self) -> list[Array]:
        return self._by_tree(self._scale * np.array(self.model.get_leaf_values()))

    @property
    def training_counts(self) -> list[Array]:
        """In training a category's number depends on the order of rows, so that rows fall into other leaves then."""
        return self._by_tree(self.model.get_leaf_weights())

    def leaves(self, X: Any) -> Leaves:
        return np.asarray(self.model.calc_leaf_indexes(X), dtype=np.int32)

    def total(self, X: Any) -> Array:
        return np.asarray(self.model.predict(X, prediction_type="RawFormulaVal"), dtype=np.float64)

    def with_leaf_values(self, values: Sequence[Array]) -> Any:
        with TemporaryDirectory() as folder:  # other copies cannot be changed
            path = str(Path(folder) / "model.cbm")
            self.model.save_model(path)
            changed = type(self.model)().load_model(path)
        changed.set_leaf_values(np.concatenate(values) / self._scale)
        return changed

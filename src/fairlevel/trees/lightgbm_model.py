"""LightGBM: ``Booster``, ``LGBMRegressor`` and ``LGBMClassifier``."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairlevel.arrays import Array
from fairlevel.trees.lightgbm_text import LightGBMText
from fairlevel.trees.protocol import SEVERAL_OUTPUTS, Leaves, NotASumOfLeaves, no_sum_of_leaves

_IDENTITY = ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "none", "custom", "")
_LOGISTIC = ("binary", "cross_entropy")


@dataclass(frozen=True)
class LightGBMEnsemble:
    """Gradient boosting, DART or a random forest; of an early-stopped model the trees up to its best iteration."""

    model: Any

    def __post_init__(self) -> None:
        if self.text.entry("num_tree_per_iteration") not in ("", "1"):
            raise NotASumOfLeaves(f"The booster {SEVERAL_OUTPUTS}")
        if self._objective[0] not in (*_IDENTITY, *_LOGISTIC) or "sqrt" in self._objective:
            raise no_sum_of_leaves("objective", self._objective[0])

    @property
    def log_odds(self) -> bool:
        return self._objective[0] in _LOGISTIC

    @property
    def _objective(self) -> list[str]:
        """Its name, and options such as ``sigmoid:1``."""
        return self.text.entry("objective").split() or [""]

    @cached_property
    def booster(self) -> Any:
        return self.model.booster_ if hasattr(type(self.model), "booster_") else self.model

    @cached_property
    def text(self) -> LightGBMText:
        return LightGBMText.read(self.booster.model_to_string())

    @property
    def leaf_values(self) -> list[Array]:
        return [self._scale * values for values in self.text.leaf_values]

    @property
    def training_counts(self) -> list[Array]:
        return [self.text.numbers(tree, "leaf_count", np.float64) for tree in range(len(self.text.trees))]

    def leaves(self, X: Any) -> Leaves:
        found: Any = self.booster.predict(X, pred_leaf=True, num_iteration=len(self.text.trees))
        return np.asarray(found, dtype=np.int32).reshape(len(found), -1)

    def total(self, X: Any) -> Array:
        if not self.log_odds:
            return np.asarray(self.model.predict(X), dtype=np.float64)
        return self._scale * np.asarray(self.model.predict(X, raw_score=True), dtype=np.float64)  # a sum in any case

    def with_leaf_values(self, values: Sequence[Array]) -> Any:
        from lightgbm import Booster  # only a model to be written anew needs the package

        text = self.text.with_leaf_values([own / self._scale for own in values])
        booster = Booster(model_str=text.write())
        if isinstance(self.model, Booster):
            return booster
        changed = deepcopy(self.model, {id(self.booster): booster})  # all but the trees
        changed._best_iteration = len(text.trees)
        return changed

    @property
    def _scale(self) -> float:
        """By what trees are multiplied: a random forest averages them, and a total may be multiplied before it is
        log-odds.
        """
        steepness = [float(option[8:]) for option in self._objective if option.startswith("sigmoid:")]
        averages = "\naverage_output\n" in self.text.head
        return (steepness or [1.0])[0] / (len(self.text.trees) if averages else 1)

"""LightGBM: ``Booster``, ``LGBMRegressor`` and ``LGBMClassifier``."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from fairlevel.arrays import Array
from fairlevel.trees.lightgbm_text import LightGBMText
from fairlevel.trees.protocol import Leaves, NotASumOfLeaves, Output, no_sum_of_leaves

_IDENTITY = ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "none", "custom", "")
_LOGISTIC = ("binary", "cross_entropy")


@dataclass(frozen=True)
class LightGBMEnsemble:
    """Gradient boosting, DART or a random forest; of an early-stopped model the trees up to its best iteration."""

    model: Any

    library: ClassVar[str] = "lightgbm"

    def __post_init__(self) -> None:
        if self._head("num_tree_per_iteration") not in ("", "1"):
            raise NotASumOfLeaves("The booster has several outputs; one number per row is needed.")
        if self._objective not in (*_IDENTITY, *_LOGISTIC) or "sqrt" in self._options:
            raise no_sum_of_leaves("objective", self._objective)

    @property
    def output(self) -> Output:
        return Output.LOG_ODDS if self._objective in _LOGISTIC else Output.NUMBER

    @property
    def _objective(self) -> str:
        return (self._head("objective").split() or [""])[0]

    @property
    def _options(self) -> list[str]:
        """Of the objective, such as ``sigmoid:1``."""
        return self._head("objective").split()[1:]

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
        if self.output is Output.NUMBER:
            return np.asarray(self.model.predict(X), dtype=np.float64)
        return self._scale * np.asarray(self.model.predict(X, raw_score=True), dtype=np.float64)  # a sum in any case

    def with_leaf_values(self, values: Sequence[Array]) -> Any:
        from lightgbm import Booster  # only a model to be written anew needs the package

        text = self.text.with_leaf_values([own / self._scale for own in values])
        booster = Booster(model_str=text.write())
        if isinstance(self.model, Booster):
            return booster
        changed = deepcopy(
            self.model, {id(self.booster): booster}
        )  # all but the trees, which would be written and read
        changed._best_iteration = len(text.trees)
        return changed

    @property
    def _scale(self) -> float:
        """A random forest averages its trees."""
        averages = "\naverage_output\n" in self.text.head
        return self._steepness / len(self.text.trees) if averages else self._steepness

    @property
    def _steepness(self) -> float:
        """By what a total is multiplied before it is log-odds."""
        found = [float(option.removeprefix("sigmoid:")) for option in self._options if option.startswith("sigmoid:")]
        return found[0] if found else 1.0

    def _head(self, name: str) -> str:
        lines = (line.partition("=") for line in self.text.head.splitlines())
        return next((value for key, _, value in lines if key == name), "")

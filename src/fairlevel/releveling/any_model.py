"""Any predict function: a correction is added, made of the trees of a small booster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd

from fairlevel.arrays import Array, Index
from fairlevel.candidates.columns import DenseColumns
from fairlevel.candidates.corrections import Disparity
from fairlevel.candidates.own_models import one_per_row
from fairlevel.data.native_columns import NativeColumns
from fairlevel.exceptions import InvalidInput
from fairlevel.releveling.protocol import Change, Family
from fairlevel.trees.lightgbm_model import LightGBMEnsemble
from fairlevel.trees.lightgbm_text import LightGBMText

CORRECTION = "correction"
RIDGES = (1e-3, 3e-2, 1.0)
TREES = 80
_SETTINGS = {
    "num_leaves": 15,
    "learning_rate": 0.1,
    "min_data_in_leaf": 20,
    "lambda_l2": 1.0,
    "deterministic": True,
    "force_row_wise": True,
    "feature_pre_filter": False,
    "verbosity": -1,
}


@dataclass(frozen=True)
class AnyModel:
    """A predict function on some rows. Shapes: prediction (row,), features (row, feature)."""

    predict: Callable[[Any], Any]
    prediction: Array
    features: Array
    columns: NativeColumns | None
    original: Any
    seed: int

    @classmethod
    def of(cls, model: Any, X: Any, seed: int) -> AnyModel:
        """Predict once; text and categories of X are read as such."""
        predict = model.predict if hasattr(model, "predict") else model
        columns = NativeColumns.fit(X) if isinstance(X, pd.DataFrame) else None
        return cls(
            predict, one_per_row("The model", predict(X), len(X)), read_features(X, columns), columns, model, seed
        )

    @property
    def kind(self) -> str:
        name = type(self.original).__name__
        return f"{name} with an added correction"

    @property
    def seen(self) -> bool:
        return False

    def families(self, rows: Index, disparity: Disparity) -> Mapping[str, Family]:
        """Trees grown on what functions of A explain of f0: the part to be removed, as far as X knows it."""
        explained = disparity.functions @ disparity.coefficients(self.prediction[rows]) / disparity.row_weight
        categorical: Any = list(self.columns.categorical) if self.columns is not None else "auto"
        data = lgb.Dataset(self.features[rows], explained, weight=disparity.row_weight, categorical_feature=categorical)
        booster = lgb.train({**_SETTINGS, "seed": self.seed}, data, TREES)
        columns = DenseColumns(booster_columns(booster, self.prediction, self.features))
        return {CORRECTION: Family(columns, RIDGES, about=booster.model_to_string())}

    def changed(self, change: Change, families: Mapping[str, Family]) -> Any:
        if change.nothing:
            return self.original
        text = LightGBMText.read(families[CORRECTION].about)
        weights = change.coefficients.get(CORRECTION, np.zeros(1 + len(text.trees)))
        values = [weight * own for weight, own in zip(weights[1:], text.leaf_values, strict=True)]
        return CorrectedModel(
            self.original,
            change.kept + float(weights[0]),
            change.intercept,
            text.with_leaf_values(values).write(),
            self.columns,
        )


@dataclass(frozen=True)
class CorrectedModel:
    """scale · f0(X) + intercept + the trees of a booster; f0 is the model it was made from."""

    original: Any
    scale: float
    intercept: float
    trees: str
    columns: NativeColumns | None

    def predict(self, X: Any) -> Array:
        """(row,) in units of the original predictions."""
        predict = self.original.predict if hasattr(self.original, "predict") else self.original
        correction: Any = lgb.Booster(model_str=self.trees).predict(read_features(X, self.columns))
        corrected: Array = self.scale * one_per_row("The model", predict(X), len(X)) + self.intercept + correction
        return corrected

    def save(self, folder: Any) -> None:
        """Only the correction could be written; the model itself is a Python object."""
        raise InvalidInput(
            f"A corrected {type(self.original).__name__} cannot be saved: files hold no code. Save your model by "
            "its own library, and scale, intercept and trees of this one; the corrected prediction is scale · f0(X) + "
            "intercept + that of the trees."
        )


def booster_columns(booster: lgb.Booster, prediction: Array, features: Array) -> Array:
    """f0 and what each tree adds, (row, 1 + tree)."""
    ensemble = LightGBMEnsemble(booster)
    leaves = ensemble.leaves(features)
    return np.column_stack([prediction, *(own[leaves[:, tree]] for tree, own in enumerate(ensemble.leaf_values))])


def read_features(X: Any, columns: NativeColumns | None) -> Array:
    """Numbers for the booster, (row, feature)."""
    if columns is not None:
        return columns.transform(X)
    try:
        return np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("X holds text; pass a DataFrame, so that its columns are read as categories.") from None

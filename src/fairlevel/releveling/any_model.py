"""Any regressor, classifier or predict function: a correction is added, made of the trees of a small booster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
from scipy.special import expit, logit
from sklearn.base import ClassifierMixin

from fairlevel.arrays import Array, Index
from fairlevel.corrections.closed_form import RIDGES, Disparity
from fairlevel.corrections.columns import DenseColumns
from fairlevel.data.features import as_dense, ordered_like_fit
from fairlevel.data.native_columns import NativeColumns
from fairlevel.data.numbers import one_per_row
from fairlevel.exceptions import InvalidInput
from fairlevel.releveling.existing import Corrections, ExistingModel, Family, LogOdds, Response
from fairlevel.trees.lightgbm_model import LightGBMEnsemble
from fairlevel.trees.protocol import by_tree

CORRECTION = "correction"
SMALLEST_PROBABILITY = 1e-6  # closer to 0 or 1 log-odds grow without limit
GROWN_TREES = 80
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
class AnyModel(ExistingModel):
    """A predict function on some rows; a classifier gets its correction on log-odds. Of its one family, ``written`` are
    the grown trees, and the columns the model itself and each of them. Shapes: features (row, feature).
    """

    features: Array
    columns: NativeColumns | None
    names: tuple[Any, ...] | None
    seed: int

    @classmethod
    def of(cls, model: Any, X: Any, seed: int, classifies: bool) -> AnyModel:
        """Predict once; text and categories of X are read as such."""
        columns = NativeColumns.fit(X) if isinstance(X, pd.DataFrame) else None
        features, names = read_features(X, columns), _names_of(X)
        if classifies:
            total, classes = log_odds_of(model, X), tuple(model.classes_)
            return cls(model, total, LogOdds(), classes, features, columns, names, seed)
        return cls(model, predictions_of(model, X), Response(), None, features, columns, names, seed)

    @property
    def kind(self) -> str:
        return f"{type(self.original).__name__} with an added correction"

    @property
    def unchanged(self) -> Any:
        return self.original if hasattr(self.original, "predict") else GivenFunction(self.original)

    def families(self, rows: Index, disparity: Disparity, target: Array | None) -> tuple[Family, ...]:
        """The model itself, and new trees that lower its disparity."""
        grown = self._grown(self.prediction[rows], rows, disparity)
        added = by_tree(grown.leaves(self.features), grown.leaf_values)
        return (Family(DenseColumns(np.column_stack([self.total, added])), RIDGES, grown.text),)

    def _grown(self, prediction: Array, rows: Index, disparity: Disparity) -> LightGBMEnsemble:
        """Trees that lower fᵀPf: each is grown on its gradient P f, what functions of A explain of the prediction with
        the trees before it. What is left after a few trees lies elsewhere than what was there before the first.

        Shapes: prediction (training row,); ``disparity`` is that of the prediction.
        """
        before = prediction - disparity.row_weight @ prediction  # else 32 bits lose what is beside a large mean
        count = len(rows)  # LightGBM's settings count rows, so that weights sum to as many
        functions = disparity.functions.astype(np.float32)  # read twice per tree, which takes as long as they are large

        def gradient(added: Array, data: lgb.Dataset) -> tuple[Array, Array]:
            return functions @ ((count * (before + added)).astype(np.float32) @ functions), count * disparity.row_weight

        categorical: Any = "auto" if self.columns is None else list(self.columns.categorical)
        data = lgb.Dataset(self.features[rows], categorical_feature=categorical)
        settings = {**_SETTINGS, "objective": gradient, "seed": self.seed}
        return LightGBMEnsemble(lgb.train(settings, data, GROWN_TREES))

    def changed(self, families: Sequence[Family], mixture: Sequence[Corrections]) -> Any:
        (family,), (part,) = families, mixture
        more, *weights = part.coefficients[0].tolist()
        text = family.written
        values = [weight * own for weight, own in zip(weights, text.leaf_values, strict=True)]
        trees = text.with_leaf_values(values).write()
        scale, intercept = float(part.kept[0]) + more, float(part.intercepts[0])
        added = AddedTrees(scale, intercept, trees, self.columns, self.names)
        return (CorrectedModel if self.classes is None else CorrectedClassifier)(self.original, added)


def predictions_of(model: Any, X: Any) -> Array:
    """Of a model or a predict function, (row,)."""
    predict = model.predict if hasattr(model, "predict") else model
    return one_per_row("The model", predict(X), len(X))


def log_odds_of(model: Any, X: Any) -> Array:
    """Of the second class of a classifier, (row,)."""
    probabilities = np.asarray(model.predict_proba(X), dtype=np.float64)
    second = one_per_row("The model", probabilities[:, 1], len(X))
    return np.asarray(logit(second.clip(SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)))


@dataclass(frozen=True)
class AddedTrees:
    """Totals become scale · total + intercept + the trees of a booster, given as LightGBM's text. ``names`` are those
    of the columns of X; None where they had none.
    """

    scale: float
    intercept: float
    trees: str
    columns: NativeColumns | None
    names: tuple[Any, ...] | None = None

    def ordered(self, X: Any) -> Any:
        """X with the columns that the correction knows, in their order."""
        return ordered_like_fit(as_dense(X), self.names)

    def __call__(self, total: Array, X: Any) -> Array:
        correction: Any = lgb.Booster(model_str=self.trees).predict(read_features(X, self.columns))
        return np.asarray(self.scale * total + self.intercept + correction)


@dataclass(frozen=True)
class GivenFunction:
    """A predict function as it was given, with the method of a model; it can still be called."""

    original: Any

    def predict(self, X: Any) -> Array:
        """(row,): what the function returns."""
        return predictions_of(self.original, X)

    def __call__(self, X: Any) -> Any:
        return self.original(X)


@dataclass(frozen=True)
class _Corrected:
    """A model and its correction."""

    original: Any
    added: AddedTrees

    @property
    def feature_names_in_(self) -> Any:
        """Names of the columns that it reads, in their order, (feature,); None where they had none."""
        return None if self.added.names is None else np.array(self.added.names, dtype=object)


class CorrectedModel(_Corrected):
    """scale · f0(X) + intercept + the trees of a booster; f0 is the model it was made from."""

    def predict(self, X: Any) -> Array:
        """(row,) in units of the original predictions; columns of a frame are found by name."""
        X = self.added.ordered(X)
        return self.added(predictions_of(self.original, X), X)

    def save(self, folder: Any) -> None:
        """Only the correction could be written; the model itself is a Python object."""
        raise InvalidInput(
            f"A corrected {type(self.original).__name__} cannot be saved: files hold no code. Save your model by "
            "its own library, and scale, intercept and trees of this one (in its attribute added); the corrected "
            "prediction is scale · f0(X) + intercept + that of the trees."
        )


class CorrectedClassifier(_Corrected, ClassifierMixin):  # type: ignore[misc]
    """A classifier whose log-odds get a correction: scale · log-odds + intercept + the trees of a booster."""

    @property
    def classes_(self) -> Any:
        """Those of the model it was made from."""
        return self.original.classes_

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of both classes, (row, 2); columns of a frame are found by name."""
        X = self.added.ordered(X)
        second = expit(self.added(log_odds_of(self.original, X), X))
        return np.column_stack([1 - second, second])

    def predict(self, X: Any) -> Any:
        """The more probable class, (row,)."""
        return np.asarray(self.classes_)[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]


def read_features(X: Any, columns: NativeColumns | None) -> Array:
    """Numbers for the booster, (row, feature)."""
    if columns is not None:
        return columns.transform(_frame(X, len(columns.kinds)))
    try:
        return np.asarray(as_dense(X), dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("X holds text; pass a DataFrame, so that its columns are read as categories.") from None


def _names_of(X: Any) -> tuple[Any, ...] | None:
    """Names of the columns of a frame; None where they have none, or share them."""
    names = tuple(getattr(X, "columns", ()))
    return names if names and len(set(names)) == len(names) else None


def _frame(X: Any, columns: int) -> pd.DataFrame:
    """Rows of as many columns as a frame that was given before."""
    frame = X.to_pandas() if hasattr(X, "to_pandas") else pd.DataFrame(X)
    if frame.shape[1] != columns:
        raise InvalidInput(f"X has {frame.shape[1]} columns; the correction reads {columns}: pass the same columns.")
    return frame

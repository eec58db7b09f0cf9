"""Any regressor, classifier or predict function: a correction is added, made of the trees of a small booster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
from scipy.special import expit, logit
from sklearn.base import ClassifierMixin

from fairlevel.arrays import Array, Index
from fairlevel.corrections.closed_form import RIDGES, Disparity
from fairlevel.data.features import as_dense, ordered_like_fit
from fairlevel.data.native_columns import NativeColumns
from fairlevel.data.numbers import one_per_row
from fairlevel.exceptions import InvalidInput
from fairlevel.members.boosters import booster_of
from fairlevel.releveling.existing import Corrections, ExistingModel, Family, LogOdds, Response
from fairlevel.threads import forked
from fairlevel.trees.lightgbm_model import LightGBMEnsemble
from fairlevel.trees.protocol import by_tree

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
    """A model on some rows; a classifier gets its correction on log-odds. Of its one family, the columns are the model
    itself and each of the grown trees, and ``written`` is the text of the trees. Shapes: features (row, feature).
    """

    features: Array
    columns: NativeColumns | None
    names: tuple[Any, ...] | None
    seed: int

    @classmethod
    def of(cls, model: Any, X: Any, seed: int, classifies: bool) -> AnyModel:
        """Predict once; text and categories of X are read as such."""
        kind = f"{type(model).__name__} with an added correction"
        model = model if hasattr(model, "predict") else PredictFunction(model)
        columns = NativeColumns.fit(X) if isinstance(X, pd.DataFrame) else None
        features, names = read_features(X, columns), tuple(getattr(X, "columns", ()))
        named = names if names and len(set(names)) == len(names) else None
        if classifies:
            total, classes = log_odds_of(model, X), tuple(model.classes_)
            return cls(model, kind, total, LogOdds(), classes, features, columns, named, seed)
        return cls(model, kind, predictions_of(model, X), Response(), None, features, columns, named, seed)

    def families(self, rows: Index, disparity: Disparity, target: Array | None) -> tuple[Family, ...]:
        """The model itself, and new trees that lower its disparity."""
        grown = self._grown(self.prediction[rows], rows, disparity)
        added = by_tree(grown.leaves(self.features), grown.leaf_values)
        return (Family(self.total, np.column_stack([self.total, added]), RIDGES, None, grown.text),)

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
        return LightGBMEnsemble(lgb.train({**_SETTINGS, "objective": gradient, "seed": self.seed}, data, GROWN_TREES))

    def changed(self, families: Sequence[Family], mixture: Sequence[Corrections], kept: float, constant: float) -> Any:
        (family,), (part,) = families, mixture
        more, *weights = part.coefficients[0].tolist()
        values = [weight * leaves for weight, leaves in zip(weights, family.written.leaf_values, strict=True)]
        scale, intercept = kept + float(part.kept[0]) + more, constant + float(part.intercepts[0])
        trees = family.written.with_leaf_values(values).write()
        kind = CorrectedModel if self.classes is None else CorrectedClassifier
        return kind(self.original, scale, intercept, trees, self.columns, self.names)


@dataclass(frozen=True)
class PredictFunction:
    """A function as a model: whatever a front gives has ``predict``."""

    function: Any

    def predict(self, X: Any) -> Array:
        """(row,): what the function returns."""
        return one_per_row("The model", self.function(X), len(X))

    def __call__(self, X: Any) -> Any:
        return self.function(X)


def predictions_of(model: Any, X: Any) -> Array:
    """Of a model, (row,)."""
    return one_per_row("The model", model.predict(X), len(X))


def log_odds_of(model: Any, X: Any) -> Array:
    """Of the second class of a classifier, (row,)."""
    probabilities = np.asarray(model.predict_proba(X), dtype=np.float64)
    second = one_per_row("The model", probabilities[:, 1], len(X))
    return np.asarray(logit(second.clip(SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)))


@dataclass(frozen=True)
class CorrectedModel:
    """scale · f0(X) + intercept + the trees of a booster, given as LightGBM's text; f0 is the model it was made from.
    ``names`` are those of the columns of X, in their order; None where they had none.
    """

    original: Any
    scale: float
    intercept: float
    trees: str
    columns: NativeColumns | None
    names: tuple[Any, ...] | None

    @property
    def feature_names_in_(self) -> Any:
        """Names of the columns that it reads, in their order, (feature,); None where they had none."""
        return None if self.names is None else np.array(self.names, dtype=object)

    def _corrected(self, total_of: Callable[[Any, Any], Array], X: Any) -> Array:
        """The total with its correction, (row,); columns of a frame are found by name."""
        X = ordered_like_fit(as_dense(X), self.names)
        threads = {"num_threads": 1} if forked() else {}
        trees = booster_of(self.trees).predict(read_features(X, self.columns), **threads)
        return np.asarray(self.scale * total_of(self.original, X) + self.intercept + trees)

    def predict(self, X: Any) -> Any:
        """(row,) in units of the original predictions."""
        return self._corrected(predictions_of, X)

    def save(self, folder: Any) -> None:
        """Only the correction could be written; the model itself is a Python object."""
        raise InvalidInput(
            f"A corrected {type(self.original).__name__} cannot be saved: files hold no code. Save your model by "
            "its own library, and scale, intercept and trees of this one; the corrected prediction is "
            "scale · f0(X) + intercept + that of the trees."
        )


class CorrectedClassifier(CorrectedModel, ClassifierMixin):  # type: ignore[misc]
    """A classifier whose log-odds get a correction: scale · log-odds + intercept + the trees of a booster."""

    @property
    def classes_(self) -> Any:
        """Those of the model it was made from."""
        return self.original.classes_

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of both classes, (row, 2)."""
        second = expit(self._corrected(log_odds_of, X))
        return np.column_stack([1 - second, second])

    def predict(self, X: Any) -> Any:
        """The more probable class, (row,)."""
        return np.asarray(self.classes_)[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]


def read_features(X: Any, columns: NativeColumns | None) -> Array:
    """Numbers for the booster, (row, feature)."""
    if columns is None:
        try:
            return np.asarray(as_dense(X), dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidInput("X holds text; pass a DataFrame, so that its columns are read as categories.") from None
    frame, count = X.to_pandas() if hasattr(X, "to_pandas") else pd.DataFrame(X), len(columns.kinds)
    if frame.shape[1] != count:
        raise InvalidInput(f"X has {frame.shape[1]} columns; the correction reads {count}: pass the same columns.")
    return columns.transform(frame)

"""Any regressor, classifier or predict function: a correction is added, made of the trees of a small booster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

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
from fairlevel.releveling.grown_trees import grow_trees
from fairlevel.releveling.protocol import Change, Family
from fairlevel.releveling.responses import LogOdds, Number, Response
from fairlevel.trees.lightgbm_text import LightGBMText
from fairlevel.trees.protocol import by_tree

CORRECTION = "correction"
SMALLEST_PROBABILITY = 1e-6  # closer to 0 or 1 log-odds grow without limit


@dataclass(frozen=True)
class AnyModel:
    """A predict function on some rows. Shapes: total (row,), features (row, feature)."""

    total: Array
    features: Array
    columns: NativeColumns | None
    names: tuple[Any, ...] | None
    original: Any
    seed: int

    response: ClassVar[Response] = Number()

    @classmethod
    def of(cls, model: Any, X: Any, seed: int) -> AnyModel:
        """Predict once; text and categories of X are read as such."""
        columns = NativeColumns.fit(X) if isinstance(X, pd.DataFrame) else None
        return cls(cls.totals(model, X), read_features(X, columns), columns, _names_of(X), model, seed)

    @staticmethod
    def totals(model: Any, X: Any) -> Array:
        """What the correction is added to, (row,)."""
        predict = model.predict if hasattr(model, "predict") else model
        return one_per_row("The model", predict(X), len(X))

    @property
    def prediction(self) -> Array:
        return self.response.prediction(self.total)

    @property
    def classes(self) -> tuple[Any, Any] | None:
        return None

    @property
    def kind(self) -> str:
        name = type(self.original).__name__
        return f"{name} with an added correction"

    @property
    def seen(self) -> bool:
        return False

    def families(self, rows: Index, disparity: Disparity, target: Array | None) -> Mapping[str, Family]:
        """The model itself, and new trees that lower its disparity."""
        categorical = None if self.columns is None else self.columns.categorical
        grown = grow_trees(self.features, self.prediction, rows, disparity, self.seed, categorical)
        added = by_tree(grown.leaves(self.features), grown.leaf_values)
        columns = DenseColumns(np.column_stack([self.total, added]))
        return {CORRECTION: Family(columns, RIDGES, about=grown.text.write())}

    def changed(self, change: Change, families: Mapping[str, Family]) -> Any:
        if change.nothing:
            return self.original if hasattr(self.original, "predict") else GivenFunction(self.original)
        text = LightGBMText.read(families[CORRECTION].about)
        weights = change.coefficients.get(CORRECTION, np.zeros(1 + len(text.trees)))
        values = [weight * own for weight, own in zip(weights[1:], text.leaf_values, strict=True)]
        trees = text.with_leaf_values(values).write()
        scale = change.kept + float(weights[0])
        return self.with_trees(AddedTrees(scale, change.intercept, trees, self.columns, self.names))

    def with_trees(self, added: AddedTrees) -> Any:
        """The model with a correction."""
        return CorrectedModel(self.original, added)


class AnyClassifier(AnyModel):
    """A classifier with ``predict_proba`` for two classes; the correction is added to the log-odds."""

    response: ClassVar[Response] = LogOdds()

    @staticmethod
    def totals(model: Any, X: Any) -> Array:
        found = np.asarray(model.predict_proba(X), dtype=np.float64)
        second = one_per_row("The model", found[:, 1], len(X))
        return np.asarray(logit(second.clip(SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)))

    @property
    def classes(self) -> tuple[Any, Any]:
        first, second = self.original.classes_
        return first, second

    def with_trees(self, added: AddedTrees) -> Any:
        return CorrectedClassifier(self.original, added)


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

    @property
    def names_in_order(self) -> Any:
        """As scikit-learn shows them, (feature,)."""
        return None if self.names is None else np.array(self.names, dtype=object)

    def ordered(self, X: Any) -> Any:
        """X with the columns that the correction knows, in their order."""
        return ordered_like_fit(as_dense(X), self.names)

    def __call__(self, total: Array, X: Any) -> Array:
        correction: Any = lgb.Booster(model_str=self.trees).predict(read_features(X, self.columns))
        corrected: Array = self.scale * total + self.intercept + correction
        return corrected


@dataclass(frozen=True)
class GivenFunction:
    """A predict function as it was given, with the method of a model; it can still be called."""

    original: Any

    def predict(self, X: Any) -> Array:
        """(row,): what the function returns."""
        return AnyModel.totals(self.original, X)

    def __call__(self, X: Any) -> Any:
        return self.original(X)


@dataclass(frozen=True)
class CorrectedModel:
    """scale · f0(X) + intercept + the trees of a booster; f0 is the model it was made from."""

    original: Any
    added: AddedTrees

    @property
    def feature_names_in_(self) -> Any:
        """Names of the columns that it reads, in their order; None where they had none."""
        return self.added.names_in_order

    def predict(self, X: Any) -> Array:
        """(row,) in units of the original predictions; columns of a frame are found by name."""
        X = self.added.ordered(X)
        return self.added(AnyModel.totals(self.original, X), X)

    def save(self, folder: Any) -> None:
        """Only the correction could be written; the model itself is a Python object."""
        raise InvalidInput(
            f"A corrected {type(self.original).__name__} cannot be saved: files hold no code. Save your model by "
            "its own library, and scale, intercept and trees of this one (in its attribute added); the corrected "
            "prediction is scale · f0(X) + intercept + that of the trees."
        )


@dataclass(frozen=True)
class CorrectedClassifier(ClassifierMixin):  # type: ignore[misc]
    """A classifier whose log-odds get a correction: scale · log-odds + intercept + the trees of a booster."""

    original: Any
    added: AddedTrees

    @property
    def classes_(self) -> Any:
        """Those of the model it was made from."""
        return self.original.classes_

    @property
    def feature_names_in_(self) -> Any:
        """Names of the columns that it reads, in their order; None where they had none."""
        return self.added.names_in_order

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of both classes, (row, 2); columns of a frame are found by name."""
        X = self.added.ordered(X)
        second = expit(self.added(AnyClassifier.totals(self.original, X), X))
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

"""Reading a model that exists: what is refused, and with which sentence."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fairlevel.data.features import as_dense
from fairlevel.exceptions import InvalidInput, InvalidType, NoTreesToChange
from fairlevel.releveling.any_model import AnyClassifier, AnyModel
from fairlevel.releveling.monotone import refuse_monotone
from fairlevel.releveling.protocol import ExistingModel
from fairlevel.releveling.tree_model import AVERAGES, LEAVES, TREES, TreeModel
from fairlevel.trees import NotASumOfLeaves, read_ensemble

METHODS = ("auto", AVERAGES, TREES, LEAVES, "correction")


def read_model(model: Any, X: Any, method: str, seed: int) -> tuple[ExistingModel, str | None]:
    """The model on these rows, and why its own trees are not used where it has some that could be."""
    any_model = AnyClassifier if _classifies(model) else AnyModel
    if not hasattr(model, "predict") and not callable(model):
        raise InvalidType(f"model={model!r} was given; a fitted model or a predict function is needed.")
    refuse_monotone(model)
    X = in_order(model, X)
    steps, last = (model[:-1], model[-1]) if isinstance(model, Pipeline) else (None, model)
    reason = None
    try:
        if isinstance(model, BaseEstimator):
            check_is_fitted(model)
        ensemble = read_ensemble(last)
        if ensemble is not None and method != "correction":
            rows = X if steps is None or not len(steps) else as_dense(steps.transform(X))
            found = TreeModel.of(ensemble, rows, model, partial(_replaced, model), method)
            _check_sum(found)
            return found, None
    except NotASumOfLeaves as error:
        reason = str(error)
    except Exception as error:
        if isinstance(error, InvalidInput) or not _is_about_model(error, ValueError):
            raise
        raise _not_usable(model, error) from error
    if method in (AVERAGES, TREES, LEAVES):
        raise NoTreesToChange(method, type(last).__name__, reason)
    if _library(model) == "xgboost" and type(model).__name__ == "Booster":
        raise InvalidType(
            "A Booster of XGBoost predicts a DMatrix, not a table; to correct its predictions, pass a function: "
            "relevel(lambda X: model.predict(xgboost.DMatrix(X)), X, ...)."
        )
    try:
        return any_model.of(model, X, seed), reason
    except Exception as error:
        if not _is_about_model(error):
            raise
        raise _not_usable(model, error) from error


_LIBRARY_ERRORS = ("CatBoostError", "LightGBMError", "XGBoostError")  # libraries that may not be installed


def _is_about_model(error: Exception, *further: type[Exception]) -> bool:
    """Whether a model says by an error that it cannot be used on these rows."""
    return isinstance(error, (NotFittedError, AttributeError, *further)) or type(error).__name__ in _LIBRARY_ERRORS


_NOT_FITTED = ("not fitted", "use fit()", "call fit", "call `fit`")  # of libraries with no error of their own for it


def _not_usable(model: Any, error: Exception) -> InvalidInput:
    name = type(model).__name__
    if isinstance(error, NotFittedError) or any(words in str(error).lower() for words in _NOT_FITTED):
        return InvalidInput(f"{name} is not fitted yet; call its fit method first.")
    said = str(error).partition("\nStack trace")[0].strip()  # XGBoost appends addresses in its library
    return InvalidInput(f"{name} cannot predict these rows: {said}")


def _classifies(model: Any) -> bool:
    """Whether the model is a classifier; one that cannot be re-levelled is refused."""
    if isinstance(model, type):
        raise InvalidType(f"model={model!r} is a class; a fitted model is needed.")
    try:
        classifies = is_classifier(model)
    except (AttributeError, TypeError):
        return False
    name = type(model[-1] if isinstance(model, Pipeline) else model).__name__
    if classifies and not hasattr(model, "predict_proba"):
        raise InvalidType(f"{name} gives no probabilities; wrap it in scikit-learn's CalibratedClassifierCV.")
    classes = getattr(model, "classes_", (0, 1))
    if classifies and len(classes) != 2:
        raise InvalidType(
            f"{name} has {len(classes)} classes; relevel is for two. FairClassifier trains a fair model for more."
        )
    return bool(classifies)


def _replaced(model: Any, changed: Any) -> Any:
    """The model with its last step replaced, where it is a Pipeline."""
    if not isinstance(model, Pipeline):
        return changed
    result = copy(model)
    result.steps = [*model.steps[:-1], (model.steps[-1][0], changed)]
    return result


def _check_sum(model: TreeModel) -> None:
    """The trees must explain all of the predictions but a constant."""
    if not len(model.values):
        raise NotASumOfLeaves("The model has no trees.")
    if not np.isfinite(model.prediction).all() or (model.leaves < 0).any():
        raise NotASumOfLeaves("The trees do not explain the predictions.")
    if np.ptp(model.offset) > 1e-4 * max(float(np.ptp(model.prediction)), 1e-300):
        raise NotASumOfLeaves("The trees start from the predictions of another model.")


def in_order(model: Any, X: Any) -> Any:
    """X with the columns that the model knows, in its order; a frame may be of pandas or polars."""
    names = columns_read(model, getattr(X, "columns", ()))
    if names is None:
        return X
    if not hasattr(X, "columns"):
        if np.ndim(X) == 2 and np.shape(X)[1] != len(names):
            raise InvalidInput(f"X has {np.shape(X)[1]} columns; the model was trained on {len(names)}.")
        return X
    missing = [name for name in names if name not in X.columns]
    if missing:
        raise InvalidInput(
            f"X lacks {len(missing)} of the {len(names)} columns that the model was trained on: "
            f"{', '.join(map(repr, missing[:5]))}."
        )
    return X[names]


def columns_read(model: Any, columns: Any) -> list[str] | None:
    """Columns that the model was trained on, by their names in ``columns``; None where it knows none. LightGBM stores
    "b mass" as "b_mass".
    """
    names = columns_of(model)
    if names is None or not _is_lightgbm(model[0] if isinstance(model, Pipeline) else model):
        return names
    by_stored_name = {str(name).replace(" ", "_"): name for name in columns}
    return [name if name in columns else by_stored_name.get(name, name) for name in names]


def columns_of(model: Any) -> list[str] | None:
    """Names of the columns that the model was trained on; None where it knows none."""
    names = getattr(model, "feature_names_in_", None)
    if names is None and type(model).__name__ == "Booster":
        own = model.feature_name() if hasattr(model, "feature_name") else model.feature_names
        names = None if own is None or all(str(name).startswith("Column_") for name in own) else own
    if names is None and _is_catboost(model):
        own = model.feature_names_ or []
        names = None if list(own) == [str(number) for number in range(len(own))] else own
    return None if names is None else [str(name) for name in names]


def text_inputs(model: Any) -> set[int]:
    """Numbers of the inputs that the model itself reads as text; a booster of LightGBM or XGBoost has none."""
    return {*model.get_cat_feature_indices(), *model.get_text_feature_indices()} if _is_catboost(model) else set()


def _is_catboost(model: Any) -> bool:
    return _library(model) == "catboost"


def _is_lightgbm(model: Any) -> bool:
    return _library(model) == "lightgbm"


def _library(model: Any) -> str:
    return type(model).__module__.partition(".")[0]

"""Reading a model that exists: what is refused, and with which sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fairlevel.data.features import as_dense
from fairlevel.exceptions import FairLevelError, InvalidInput, InvalidType, NoTreesToChange
from fairlevel.releveling.any_model import AnyModel
from fairlevel.releveling.existing import UNNAMED, ExistingModel, LogOdds, Response
from fairlevel.releveling.tree_model import AVERAGES, LEAVES, TREES, TreeModel
from fairlevel.trees import NotASumOfLeaves, TreeEnsemble, read_ensemble

METHODS = ("auto", AVERAGES, TREES, LEAVES, "correction")

_NOT_FITTED = ("not fitted", "use fit()", "call fit", "call `fit`")  # of libraries with no error of their own for it
_OF_LIBRARIES = ("CatBoostError", "LightGBMError", "XGBoostError")  # of libraries that may not be installed
_MONOTONE = ("monotone_constraints", "monotone_constraint", "monotonic_cst")


def read_model(model: Any, X: Any, method: str, seed: int) -> tuple[ExistingModel, str | None]:
    """The model on these rows, and why its own trees are not used where it has some that could be."""
    classifies = _classifies(model)
    if not hasattr(model, "predict") and not callable(model):
        raise InvalidType(f"model={model!r} was given; a fitted model or a predict function is needed.")
    refuse_monotone(model)
    X, last, reason = in_order(model, X), last_step(model), None
    try:
        with _said_of(model, ValueError):
            if isinstance(model, BaseEstimator):
                check_is_fitted(model)
            ensemble = read_ensemble(last)
            if ensemble is not None and method != "correction":
                return _tree_model(model, ensemble, X, method), None
    except NotASumOfLeaves as error:
        reason = str(error)
    if method in (AVERAGES, TREES, LEAVES):
        raise NoTreesToChange(method, type(last).__name__, reason)
    if _library(model) == "xgboost" and type(model).__name__ == "Booster":
        raise InvalidType(
            "A Booster of XGBoost predicts a DMatrix, not a table; to correct its predictions, pass a function: "
            "relevel(lambda X: model.predict(xgboost.DMatrix(X)), X, ...)."
        )
    with _said_of(model):
        return AnyModel.of(model, X, seed, classifies), reason


def _tree_model(model: Any, ensemble: TreeEnsemble, X: Any, method: str) -> TreeModel:
    """An ensemble, alone or as the last step of a Pipeline, on rows that pass all of its trees."""
    last = last_step(model)
    rows = X if last is model or len(model) == 1 else as_dense(model[:-1].transform(X))
    kind = f"{len(ensemble.leaf_values)} trees ({type(last).__name__})"
    classes = tuple(getattr(model, "classes_", UNNAMED)) if ensemble.log_odds else None
    response, method = LogOdds() if ensemble.log_odds else Response(), AVERAGES if method == "auto" else method
    total, leaves, wrapped = ensemble.total(rows), ensemble.leaves(rows), partial(_replaced, model)
    trees = TreeModel(model, kind, total, response, classes, ensemble, leaves, wrapped, method)
    if not trees.values:
        raise NotASumOfLeaves("The model has no trees.")
    if not np.isfinite(trees.prediction).all() or (leaves < 0).any():
        raise NotASumOfLeaves("The trees do not explain the predictions.")
    if np.ptp(trees.offset) > 1e-4 * max(float(np.ptp(trees.prediction)), 1e-300):
        raise NotASumOfLeaves("The trees start from the predictions of another model.")
    return trees


@contextmanager
def _said_of(model: Any, *further: type[Exception]) -> Iterator[None]:
    """Errors by which a model says that it cannot be used on these rows, in one sentence."""
    try:
        yield
    except FairLevelError:
        raise
    except Exception as error:
        expected = isinstance(error, (NotFittedError, AttributeError, *further))
        if not expected and type(error).__name__ not in _OF_LIBRARIES:
            raise
        name, said = type(model).__name__, str(error).partition("\nStack trace")[0].strip()  # XGBoost adds addresses
        if isinstance(error, NotFittedError) or any(words in said.lower() for words in _NOT_FITTED):
            raise InvalidInput(f"{name} is not fitted yet; call its fit method first.") from error
        raise InvalidInput(f"{name} cannot predict these rows: {said}") from error


def last_step(model: Any) -> Any:
    """The model itself, or the last step of a Pipeline."""
    return model[-1] if isinstance(model, Pipeline) else model


def _classifies(model: Any) -> bool:
    """Whether the model is a classifier; one that cannot be re-levelled is refused."""
    if isinstance(model, type):
        raise InvalidType(f"model={model!r} is a class; a fitted model is needed.")
    try:
        classifies = bool(is_classifier(model))
    except (AttributeError, TypeError):
        return False
    name, classes = type(last_step(model)).__name__, getattr(model, "classes_", (0, 1))
    if classifies and not hasattr(model, "predict_proba"):
        raise InvalidType(f"{name} gives no probabilities; wrap it in scikit-learn's CalibratedClassifierCV.")
    if classifies and len(classes) != 2:
        raise InvalidType(
            f"{name} has {len(classes)} classes; relevel is for two. FairClassifier trains a fair model for more."
        )
    return classifies


def refuse_monotone(model: Any) -> None:
    """Raise an error if a model, or one inside it, was trained to only rise or only fall along a column: corrections do
    not keep that. Files of XGBoost do not say whether it was.
    """
    said = [list(value.values()) if isinstance(value, Mapping) else value for value in _constraints(model)]
    if any(re.search(r"(?<!\w)-?1\b", str(value)) for value in said):  # 1 and -1 are constraints, 0 is none
        raise InvalidInput(
            f"{type(last_step(model)).__name__} was trained with monotone constraints, and relevel cannot keep them: "
            "predictions could fall where they must rise. Train the model without them, or give them up by passing its "
            "predict function: relevel(model.predict, X, ...)."
        )


def _constraints(model: Any) -> Iterator[Any]:
    """What a model says about constraints, in its parameters or in its trees, as its library writes it."""
    for name, value in model.get_params().items() if hasattr(model, "get_params") else ():
        own = name.rpartition("__")[2] in _MONOTONE
        yield value if own else getattr(value, "monotone", None)  # the latter of fairlevel's own Boosting
    booster = getattr(last_step(model), "booster_", last_step(model))
    library = _library(booster)
    if library == "lightgbm" and hasattr(booster, "model_to_string"):
        yield from re.findall(r"^monotone_constraints=(.*)$", booster.model_to_string(), flags=re.MULTILINE)
    elif library == "xgboost" and hasattr(booster, "save_config"):
        trees = json.loads(booster.save_config())["learner"]["gradient_booster"]
        yield trees.get("tree_train_param", {}).get("monotone_constraints")
    elif library == "catboost" and booster.is_fitted():
        yield booster.get_all_params().get("monotone_constraints")


def _replaced(model: Any, changed: Any) -> Any:
    """The model with its last step replaced, where it is a Pipeline."""
    if not isinstance(model, Pipeline):
        return changed
    result = copy(model)
    result.steps = [*model.steps[:-1], (model.steps[-1][0], changed)]
    return result


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
    names, library = getattr(model, "feature_names_in_", None), _library(model)
    if names is None and type(model).__name__ == "Booster":
        names = model.feature_name() if library == "lightgbm" else model.feature_names
        names = None if all(str(name).startswith("Column_") for name in names or ()) else names
    if names is None and library == "catboost":
        numbers = [str(number) for number in range(len(model.feature_names_ or ()))]
        names = None if model.feature_names_ in (None, numbers) else model.feature_names_
    if names is None:
        return None
    if _library(model[0] if isinstance(model, Pipeline) else model) != "lightgbm":
        return [str(name) for name in names]
    by_stored_name = {str(name).replace(" ", "_"): name for name in columns}
    return [name if name in columns else by_stored_name.get(name, name) for name in map(str, names)]


def text_inputs(model: Any) -> set[int]:
    """Numbers of the inputs that the model itself reads as text; a booster of LightGBM or XGBoost has none."""
    return (
        {*model.get_cat_feature_indices(), *model.get_text_feature_indices()}
        if _library(model) == "catboost"
        else set()
    )


def _library(model: Any) -> str:
    return type(model).__module__.partition(".")[0]

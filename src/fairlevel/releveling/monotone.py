"""Monotone constraints of models that exist: corrections do not keep them, so such models are refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sklearn.pipeline import Pipeline

from fairlevel.exceptions import InvalidInput

_PARAMETERS = ("monotone_constraints", "monotone_constraint", "monotonic_cst")


def refuse_monotone(model: Any) -> None:
    """Raise an error if a model, or one inside it, was trained to only rise or only fall along a column. Files of
    XGBoost do not say whether it was.
    """
    if any(map(_constrains, _constraints(model))):
        name = type(model[-1] if isinstance(model, Pipeline) else model).__name__
        raise InvalidInput(
            f"{name} was trained with monotone constraints, and relevel cannot keep them: predictions could fall where "
            "they must rise. Train the model without them, or give them up by passing its predict function: "
            "relevel(model.predict, X, ...)."
        )


def _constraints(model: Any) -> Iterator[Any]:
    """What a model says about constraints, in its parameters or in its trees, as its library writes it."""
    if hasattr(model, "get_params") and not isinstance(model, type):
        for name, value in model.get_params().items():
            if name.rpartition("__")[2] in _PARAMETERS:
                yield value
            yield getattr(value, "monotone", None)  # fairlevel's own Boosting
    booster = getattr(model[-1] if isinstance(model, Pipeline) else model, "booster_", model)
    library = type(booster).__module__.partition(".")[0]
    if library == "lightgbm" and hasattr(booster, "model_to_string"):
        yield from re.findall(r"^monotone_constraints=(.*)$", booster.model_to_string(), flags=re.MULTILINE)
    elif library == "xgboost" and hasattr(booster, "save_config"):
        trees = json.loads(booster.save_config())["learner"]["gradient_booster"]
        yield trees.get("tree_train_param", {}).get("monotone_constraints")
    elif library == "catboost" and booster.is_fitted():
        yield booster.get_all_params().get("monotone_constraints")


def _constrains(value: Any) -> bool:
    """Whether a constraint is on some column: 1 and -1 are, 0 and nothing are not."""
    if value is None:
        return False
    if isinstance(value, Mapping):
        value = list(value.values())
    return re.search(r"(?<!\w)-?1\b", str(value)) is not None

"""Reading saved estimators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairlevel.estimators.fair_classifier import FairClassifier
from fairlevel.estimators.fair_regressor import FairRegressor
from fairlevel.exceptions import InvalidInput
from fairlevel.models.folder import damage_in_one_sentence, read_models
from fairlevel.models.settings import from_plain
from fairlevel.removed import REMOVED

ESTIMATORS: dict[str, type[FairRegressor] | type[FairClassifier]] = {
    estimator.__name__: estimator for estimator in (FairRegressor, FairClassifier)
}
"""Estimators that a folder may hold, by the name that stands in it."""


@damage_in_one_sentence
def load(folder: str | Path, *, module: Any = None) -> FairRegressor | FairClassifier:
    """The fitted estimator that its method ``save`` wrote; a file that was changed is refused.

    A model that ``fairlevel front`` saved takes the table as it was: ``load("front/models/knee").predict(
    pandas.read_csv("new.csv"))``. The columns that it needs are its ``feature_names_in_``; others are ignored.

    Parameters
    ----------
    folder : as given to ``save``
    module : where the model holds your own ``nn.Module``: an untrained one of the same class. Not needed where the
        class is imported already and its arguments are attributes of the same names
    """
    models, description = read_models(Path(folder), module)
    name = description.get("estimator", FairRegressor.__name__)
    if name not in ESTIMATORS:
        raise InvalidInput(f"{str(folder)!r} holds a {name}, which this version does not know.")
    settings = {key: value for key, value in description["settings"].items() if f"{name}({key}=)" not in REMOVED}
    estimator = ESTIMATORS[name](**{key: from_plain(value, module) for key, value in settings.items()})
    estimator._restore(models, description)
    return estimator

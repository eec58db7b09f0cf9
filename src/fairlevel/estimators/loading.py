"""Reading saved estimators."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairlevel.data.encoder import TableEncoder
from fairlevel.data.native_columns import NativeColumns
from fairlevel.estimators.fair_classifier import FairClassifier
from fairlevel.estimators.fair_estimator import FIGURES
from fairlevel.estimators.fair_regressor import FairRegressor
from fairlevel.estimators.settings_json import from_plain
from fairlevel.exceptions import InvalidInput
from fairlevel.models.folder import damage_in_one_sentence, read_models

if TYPE_CHECKING:
    from torch import nn

ESTIMATORS: dict[str, type[FairRegressor] | type[FairClassifier]] = {
    estimator.__name__: estimator for estimator in (FairRegressor, FairClassifier)
}
"""Estimators that a folder may hold, by the name that stands in it."""


@damage_in_one_sentence
def load(folder: str | Path, *, module: nn.Module | None = None) -> FairRegressor | FairClassifier:
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
    settings = {name: from_plain(value, module) for name, value in description["settings"].items()}
    estimator: Any = ESTIMATORS[name](**settings)
    if isinstance(estimator, FairClassifier):
        estimator.models_ = models
        estimator.classes_ = np.array(description["classes"], dtype=np.dtype(description["classes_type"]))
        estimator.brier_ = description["brier"]
        if "dpvar_by_class" in description:
            estimator.dpvar_by_class_ = np.array(description["dpvar_by_class"])
    else:
        (estimator.model_,) = models
    columns = description.get("native_columns")
    estimator.native_columns_ = None if columns is None else NativeColumns.from_plain(columns)
    rules = description.get("encoder")
    estimator.encoder_ = None if rules is None else TableEncoder.from_dict(rules)
    estimator.n_features_in_ = description["n_features"]
    if description.get("feature_names") is not None:
        estimator.feature_names_in_ = np.array(description["feature_names"], dtype=object)
    for figure in FIGURES:
        if figure in description.get("figures", {}):
            setattr(estimator, figure, description["figures"][figure])
    if rules is not None:
        estimator.feature_names_in_ = np.array(estimator.encoder_.needed, dtype=object)
        estimator.n_features_in_ = len(estimator.feature_names_in_)
    estimator.notes_ = description.get("notes", {})
    return estimator  # type: ignore[no-any-return]

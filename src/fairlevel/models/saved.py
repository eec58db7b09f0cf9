"""A saved model as it predicts a table: NumPy and pandas alone, and LightGBM's library for trees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.data.features import as_table, ordered_like_fit, refuse_text
from fairlevel.data.native_columns import NativeColumns
from fairlevel.data.numbers import refuse_extremes, refuse_missing
from fairlevel.data.table_rules import TableRules, rules_from
from fairlevel.exceptions import InvalidInput
from fairlevel.models.folder import damage_in_one_sentence, read_models
from fairlevel.models.model import Model, class_probabilities

ESTIMATORS = ("FairRegressor", "FairClassifier")
"""Estimators that a folder may hold, by the name that stands in it."""


@dataclass(frozen=True)
class SavedModel:
    """The models of a folder, and how they read a table: by the rules of an encoder, as categories and numbers
    (``columns``), or as numbers. ``names`` are the features that were seen in fit, ``classes`` those of a classifier.
    """

    models: tuple[Model, ...]
    features: int
    names: tuple[str, ...] | None
    rules: TableRules | None
    columns: NativeColumns | None
    classes: Any | None
    notes: dict[str, Any]

    @property
    def as_text(self) -> tuple[str, ...]:
        """Columns that a file of text should hand over as written."""
        return () if self.rules is None else self.rules.as_text

    @property
    def words(self) -> tuple[str, ...]:
        """Columns of text in which a word such as NA is a category, and no gap."""
        return () if self.rules is None else self.rules.words

    @property
    def plain_numbers(self) -> tuple[str, ...]:
        """Columns that the models read as numbers, without a rule of their own."""
        return self.names if self.names is not None and self.rules is None and self.columns is None else ()

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns that a table must have; none where the models know no names."""
        return self.rules.needed if self.rules is not None else self.names or ()

    def lenient(self) -> Self:
        """The same, but cells that cannot be read count as missing."""
        return self if self.rules is None else replace(self, rules=TableRules(self.rules.rules_, "impute"))

    def predict(self, table: pd.DataFrame) -> dict[str, Array]:
        """For each row the prediction, under the name "", or the class, and under "_NAME" the probability of class
        NAME. Columns that the model does not read are ignored.
        """
        x = self._matrix(table)
        if self.classes is None:
            return {"": self.models[0].predict(x)}
        probability = class_probabilities(self.models, x)
        named = {f"_{name}": column for name, column in zip(self.classes, probability.T, strict=True)}
        return {"": self.classes[probability.argmax(axis=1)], **named}

    def _matrix(self, table: pd.DataFrame) -> Array:
        """(row, number that the models read)."""
        if self.rules is not None:
            return self.rules.transform(table)
        if self.names is not None:
            table = ordered_like_fit(table[[name for name in self.names if name in table]], self.names)
        if table.shape[1] != self.features:
            raise InvalidInput(f"The table has {table.shape[1]} columns; the model reads {self.features} numbers.")
        gaps = all(model.native for model in self.models)
        if self.columns is not None:
            x = self.columns.transform(table)
        else:
            table = as_table(table)
            refuse_text(table)
            x = table.to_numpy(dtype=np.float64, na_value=np.nan)
        refuse_missing("The table", x, self.names, gaps)
        refuse_extremes("The table", x, self.names, 0.0)
        return x


@damage_in_one_sentence
def read_saved(folder: str | Path) -> SavedModel:
    """The model in a folder that an estimator's method ``save`` wrote; a file that was changed is refused."""
    models, known = read_models(Path(folder))
    name = known.get("estimator", ESTIMATORS[0])
    if name not in ESTIMATORS:
        raise InvalidInput(f"{str(folder)!r} holds a {name}, which this version does not know.")
    names, rules, columns = known.get("feature_names"), known.get("encoder"), known.get("native_columns")
    classes = known["classes"] if name == "FairClassifier" else None
    return SavedModel(
        models,
        known["n_features"],
        None if names is None else tuple(names),
        None if rules is None else TableRules(rules_from(rules["rules"]), rules["unreadable"]),
        None if columns is None else NativeColumns.from_plain(columns),
        None if classes is None else np.array(classes, dtype=np.dtype(known["classes_type"])),
        known.get("notes", {}),
    )

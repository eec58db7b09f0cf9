"""Turn a table of numbers, text, dates and missing values into a matrix, by rules learnt from training rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from fairlevel.arrays import Array
from fairlevel.data.columns import Kind, kind_of
from fairlevel.data.features import named_columns, refuse_doubles
from fairlevel.data.native_columns import NativeColumns
from fairlevel.data.table_rules import MANY, TableRules, Values, rule_for, rules_from
from fairlevel.exceptions import InvalidInput, UnknownName

UNREADABLE = ("error", "impute")


class TableEncoder(TransformerMixin, TableRules, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn transformer of tables: one rule for each column that varies on the training rows, learnt from
    those rows alone. The target is not used.

    What a column holds is decided in ``fit``: numbers, dates (by type, or text in one format), truths, or text.
    ``transform`` reads later columns by the same rule. A cell that cannot be read so is an error that names it; many
    categories that the training rows lack are a warning of type :class:`fairlevel.exceptions.UnseenLevels`.

    Parameters
    ----------
    many : how text with more than 20 categories is encoded. "frequent", the default: indicators of frequent categories,
        shared ones of the others, and frequency; "ordinal": numbers in alphabetical order, as in the paper's study
    unreadable : "error", or "impute": a cell that cannot be read counts as missing, with a warning of type
        :class:`fairlevel.exceptions.UnreadableCells`

    Attributes
    ----------
    rules_ : the rules, one per column that is used
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> import pandas as pd
    >>> from fairlevel import TableEncoder
    >>> table = pd.DataFrame({"town": ["a", "b", None], "joined": ["2020-01-01", "2020-01-03", "2020-01-04"]})
    >>> TableEncoder().set_output(transform="pandas").fit_transform(table)
       town=(missing)  town=a  town=b   joined
    0             0.0     1.0     0.0  18262.0
    1             0.0     0.0     1.0  18264.0
    2             1.0     0.0     0.0  18265.0
    """

    def __init__(self, many: str = "frequent", unreadable: str = "error") -> None:
        self.many = many
        self.unreadable = unreadable

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn medians and categories from training rows; columns that are empty or constant there are left out."""
        frame = named_columns(X)
        refuse_doubles(frame, "X")
        validate_data(self, X, skip_check_array=True)
        kinds = {str(name): kind_of(str(name), column) for name, column in frame.items()}
        columns = {name: kind.read(frame[name]) for name, kind in kinds.items()}
        return self.learn(kinds, columns)

    def learn(self, kinds: Mapping[str, Kind], columns: Mapping[str, Values]) -> Self:
        """The same from columns that have been read as these kinds."""
        if self.many not in MANY:
            raise UnknownName("rule for many categories", self.many, MANY)
        if self.unreadable not in UNREADABLE:
            raise UnknownName("value of unreadable", self.unreadable, UNREADABLE)
        rules = [rule_for(name, kind, columns[name], self.many) for name, kind in kinds.items()]
        kept = tuple(rule for rule in rules if rule is not None)
        if not kept:
            rows = len(next(iter(columns.values()), ()))
            raise InvalidInput(f"None of the {len(kinds)} columns varies on the {rows} training rows.")
        self.rules_ = kept
        return self

    @property
    def outputs(self) -> tuple[str, ...]:
        check_is_fitted(self)
        return super().outputs

    @property
    def needed(self) -> tuple[str, ...]:
        check_is_fitted(self)
        return super().needed

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns of the matrix, as in scikit-learn."""
        return np.array(self.outputs, dtype=object)

    def transform(self, X: Any) -> Array:
        """(row, column of the table) -> (row, column of the matrix); columns that are not needed are ignored."""
        check_is_fitted(self)
        return super().transform(X)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"many": self.many, "unreadable": self.unreadable, "rules": self.to_plain()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The encoder that :meth:`to_dict` described."""
        encoder = cls(values["many"], values["unreadable"])
        encoder.rules_ = rules_from(values["rules"])
        encoder.feature_names_in_ = np.array(encoder.needed, dtype=object)
        encoder.n_features_in_ = len(encoder.needed)
        return encoder

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


@dataclass(frozen=True)
class Encoding:
    """How rows of a :class:`fairlevel.data.table.Table`, with categories as whole numbers and gaps as NaN, become the
    numbers that predictors see: by rules learnt anew in each fit, never from rows that judge. ``encoder`` may be
    unfitted; what each column holds is known from all rows.
    """

    encoder: TableEncoder
    columns: NativeColumns
    names: tuple[str, ...]

    def fit(self, x: Array) -> Encoding:
        """With rules learnt from these rows, (row, column)."""
        kinds = dict(zip(self.names, self.columns.kinds, strict=True))
        return replace(self, encoder=clone(self.encoder).learn(kinds, self.columns.values(self.names, x)))

    def transform(self, x: Array) -> Array:
        """(row, column) -> (row, feature); the encoder must be fitted."""
        return self.encoder.encode(self.columns.values(self.names, x))

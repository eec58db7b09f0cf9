"""Turn a table of numbers, text, dates and missing values into a matrix, by rules learnt from training rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fairlevel.arrays import Array
from fairlevel.data.column_rules import MANY, Values, plain_rule, rule_for, rule_from
from fairlevel.data.columns import Kind, Numbers, Reading, kind_of, refuse_unreadable
from fairlevel.exceptions import InvalidInput, InvalidType, UnknownName, UnreadableCells, UnseenLevels

MANY_UNSEEN = 0.05  # share of the rows from which on unseen categories are worth a warning
UNREADABLE = ("error", "impute")


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
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
        if frame.columns.has_duplicates:
            twice = frame.columns[frame.columns.duplicated()][0]
            raise InvalidInput(f"The column {twice!r} appears more than once; give each column a name of its own.")
        validate_data(self, X, skip_check_array=True)
        kinds = {str(name): kind_of(str(name), column) for name, column in frame.items()}
        columns = {
            name: kind.read(frame[given]).values for given, (name, kind) in zip(frame, kinds.items(), strict=True)
        }
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
        """Names of the columns of the matrix."""
        check_is_fitted(self)
        return tuple(name for rule in self.rules_ for name in rule.outputs)

    @property
    def origin(self) -> tuple[int, ...]:
        """The number of the rule that each column of the matrix comes from."""
        check_is_fitted(self)
        return tuple(number for number, rule in enumerate(self.rules_) for _ in rule.outputs)

    @property
    def needed(self) -> tuple[str, ...]:
        """Names of the columns that a table must have."""
        check_is_fitted(self)
        return tuple(rule.name for rule in self.rules_)

    @property
    def as_text(self) -> tuple[str, ...]:
        """Columns that a file of text should hand over as written, because their rule is not that of plain numbers."""
        check_is_fitted(self)
        return tuple(rule.name for rule in self.rules_ if rule.reads != Numbers())

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns of the matrix, as in scikit-learn."""
        return np.array(self.outputs, dtype=object)

    def transform(self, X: Any) -> Array:
        """(row, column of the table) -> (row, column of the matrix); columns that are not needed are ignored."""
        frame = named_columns(X)
        readings = self.read(frame)
        for rule in self.rules_:
            if self.unreadable == "error":
                refuse_unreadable(rule.name, rule.reads, frame[rule.name], readings[rule.name].unreadable)
        counts = {name: int(reading.unreadable.sum()) for name, reading in readings.items()}
        _warn(UnreadableCells, "Cells that cannot be read count as missing", counts, len(frame))
        columns = {name: reading.values for name, reading in readings.items()}
        many = {name: count for name, count in self.unseen(columns).items() if count >= MANY_UNSEEN * len(frame)}
        _warn(UnseenLevels, "Categories that the training rows lack", many, len(frame))
        return self.encode(columns)

    def read(self, X: Any) -> dict[str, Reading]:
        """The columns that are needed, by name, each read by its rule."""
        check_is_fitted(self)
        frame = named_columns(X)
        missing = [name for name in self.needed if name not in frame]
        if missing:
            raise InvalidInput(
                f"The table lacks {', '.join(map(repr, missing))}, which the encoder was fitted on; it needs "
                f"{', '.join(map(repr, self.needed))}."
            )
        return {rule.name: rule.reads.read(frame[rule.name]) for rule in self.rules_}

    def encode(self, columns: Mapping[str, Values]) -> Array:
        """Columns that have been read -> (row, column of the matrix)."""
        return np.hstack([rule.encode(columns[rule.name]) for rule in self.rules_])

    def unseen(self, columns: Mapping[str, Values]) -> dict[str, int]:
        """For each column the number of rows whose category the training rows lack."""
        return {rule.name: rule.unseen(columns[rule.name]) for rule in self.rules_}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        check_is_fitted(self)
        rules = [plain_rule(rule) for rule in self.rules_]
        return {"many": self.many, "unreadable": self.unreadable, "rules": rules}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The encoder that :meth:`to_dict` described."""
        found = cls(values["many"], values["unreadable"])
        found.rules_ = tuple(map(rule_from, values["rules"]))
        found.feature_names_in_ = np.array(found.needed, dtype=object)
        found.n_features_in_ = len(found.needed)
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def named_columns(X: Any) -> pd.DataFrame:
    """A table with names; columns of an array are x0, x1, …"""
    if isinstance(X, pd.DataFrame):
        return X.rename(columns=str)
    if hasattr(X, "to_pandas"):
        return X.to_pandas()  # type: ignore[no-any-return]
    if hasattr(X, "toarray"):
        raise InvalidType("X is a sparse matrix; TableEncoder reads tables: pass a DataFrame, or X.toarray().")
    array = np.asarray(X)
    if array.ndim != 2:
        raise InvalidInput(
            f"Expected 2D array, got {array.ndim}D array instead: a table of shape (rows, columns) is needed. Reshape "
            "your data, such as with X.reshape(-1, 1)."
        )
    return pd.DataFrame(array, columns=[f"x{number}" for number in range(array.shape[1])])


def _warn(category: type[Warning], what: str, counts: Mapping[str, int], rows: int) -> None:
    found = [f"{name!r} {count} of {rows} rows" for name, count in counts.items() if count]
    if found:
        warnings.warn(f"{what}: {', '.join(found)}.", category, stacklevel=3)

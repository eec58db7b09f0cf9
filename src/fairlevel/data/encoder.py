"""Turn a table of numbers, text, dates and missing values into a matrix, by rules learnt from training rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from hashlib import blake2b
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fairlevel.arrays import Array, Flags
from fairlevel.data.columns import (
    FEW_LEVELS,
    Kind,
    Numbers,
    Reading,
    Texts,
    kind_from,
    kind_of,
    plain_kind,
    refuse_unreadable,
)
from fairlevel.exceptions import InvalidInput, InvalidType, UnknownName, UnreadableCells, UnseenLevels

MOST_INDICATORS = FEW_LEVELS  # categories of a text column that has one indicator for each
MOST_OWN = 80  # of a text column with more: categories with an indicator of their own,
ROWS_FOR_OWN = 40  # which have at least so many training rows;
ROWS_FOR_BUCKET, MOST_BUCKETS = 150, 16  # the others share indicators
MANY_UNSEEN = 0.05  # share of the rows from which on unseen categories are worth a warning
_MISSING = "(missing)"

Values = Any
"""A column as read: float64 with NaN, or text with None, (row,)."""


@dataclass(frozen=True)
class NumberRule:
    """A column of numbers, dates or truths; missing values become the median of the training rows."""

    name: str
    median: float
    reads: Kind = Numbers()

    @classmethod
    def learn(cls, name: str, values: Array, reads: Kind) -> Self | None:
        """None where the column is empty or constant."""
        known = values[np.isfinite(values)]
        return cls(name, float(np.median(known)), reads) if known.size and np.ptp(known) > 0 else None

    def encode(self, values: Values) -> Array:
        """(row,) -> (row, 1)."""
        return np.where(np.isfinite(values), values, self.median)[:, None]

    def unseen(self, values: Values) -> int:
        """Any number will do."""
        return 0

    @property
    def outputs(self) -> tuple[str, ...]:
        return (self.name,)


@dataclass(frozen=True)
class IndicatorRule:
    """A text column with few categories: one column of zeros and ones per category; an unseen category is all zeros."""

    name: str
    categories: tuple[str, ...]
    reads: Kind = Texts()

    def encode(self, values: Values) -> Array:
        """(row,) -> (row, category)."""
        return _indicators(_filled(values), self.categories)

    def unseen(self, values: Values) -> int:
        """How many cells hold a category that the training rows lack; gaps are none."""
        return _count_unseen(values, self.categories)

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={category}" for category in self.categories)


@dataclass(frozen=True)
class FrequentRule:
    r"""A text column with many categories. The 80 most frequent ones with at least 40 training rows have an indicator
    each; each other category has the indicator :math:`h(\text{category}) \bmod m` for a fixed hash h and m ≤ 16. A last
    column holds :math:`\log n`, with n the number of training rows of the category. An unseen category has its hash and
    the smallest n of all.
    """

    name: str
    categories: tuple[str, ...]
    counts: tuple[int, ...]
    reads: Kind = Texts()

    @classmethod
    def learn(cls, name: str, categories: tuple[str, ...], counts: tuple[int, ...]) -> Self:
        return cls(name, categories, counts)

    @cached_property
    def buckets(self) -> int:
        """How many indicators the other categories share: one for every 150 of their training rows."""
        known = set(self.own)
        rows = sum(count for category, count in zip(self.categories, self.counts, strict=True) if category not in known)
        return min(max(rows // ROWS_FOR_BUCKET, 1), MOST_BUCKETS)

    @cached_property
    def own(self) -> tuple[str, ...]:
        """Categories with an indicator of their own, alphabetically."""
        order = sorted(zip([-count for count in self.counts], self.categories, strict=True))
        return tuple(sorted(category for count, category in order[:MOST_OWN] if -count >= ROWS_FOR_OWN))

    def encode(self, values: Values) -> Array:
        """(row,) -> (row, own indicators + buckets + 1)."""
        number, known = pd.factorize(_filled(values))
        counts = dict(zip(self.categories, self.counts, strict=True))
        own = _indicators(known, self.own)
        shared = np.eye(self.buckets)[[_hash(category) % self.buckets for category in known]].reshape(-1, self.buckets)
        shared[own.any(axis=1)] = 0.0
        frequency = np.log([counts.get(category, min(self.counts)) for category in known])
        encoded: Array = np.column_stack([own, shared, frequency])[number]
        return encoded

    def unseen(self, values: Values) -> int:
        """How many cells hold a category that the training rows lack; gaps are none."""
        return _count_unseen(values, self.categories)

    @property
    def outputs(self) -> tuple[str, ...]:
        own = (f"{self.name}={category}" for category in self.own)
        return (*own, *(f"{self.name}#{bucket}" for bucket in range(self.buckets)), f"{self.name} frequency")


@dataclass(frozen=True)
class OrdinalRule:
    """A text column with many categories, numbered in alphabetical order; an unseen category gets the middle number.
    For the study, whose protocol says so.
    """

    name: str
    categories: tuple[str, ...]
    reads: Kind = Texts()

    @classmethod
    def learn(cls, name: str, categories: tuple[str, ...], counts: tuple[int, ...]) -> Self:
        return cls(name, categories)

    def encode(self, values: Values) -> Array:
        """(row,) -> (row, 1)."""
        numbers = {category: float(number) for number, category in enumerate(self.categories)}
        middle = (len(self.categories) - 1) / 2
        return np.array([numbers.get(category, middle) for category in _filled(values)])[:, None]

    def unseen(self, values: Values) -> int:
        """How many cells hold a category that the training rows lack; gaps are none."""
        return _count_unseen(values, self.categories)

    @property
    def outputs(self) -> tuple[str, ...]:
        return (self.name,)


Rule = NumberRule | IndicatorRule | FrequentRule | OrdinalRule
RULES: dict[str, Any] = {
    "number": NumberRule,
    "indicator": IndicatorRule,
    "frequent": FrequentRule,
    "ordinal": OrdinalRule,
}
MANY = ("frequent", "ordinal")
"""Rules for text with more than 20 categories."""
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
        rules = [self._rule(name, kind, columns[name]) for name, kind in kinds.items()]
        kept = tuple(rule for rule in rules if rule is not None)
        if not kept:
            rows = len(next(iter(columns.values()), ()))
            raise InvalidInput(f"None of the {len(kinds)} columns varies on the {rows} training rows.")
        self.rules_ = kept
        return self

    def _rule(self, name: str, kind: Kind, values: Values) -> Rule | None:
        """The rule for a column, or None if the column is empty or constant."""
        if not kind.is_text:
            return NumberRule.learn(name, values, kind)
        categories, counts = np.unique(_filled(values).astype(str), return_counts=True)
        if len(categories) < 2:
            return None
        known = tuple(map(str, categories))
        if len(known) <= MOST_INDICATORS:
            return IndicatorRule(name, known)
        rule: Rule = RULES[self.many].learn(name, known, tuple(map(int, counts)))
        return rule

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
        kinds = {kind: name for name, kind in RULES.items()}
        plain = [{"kind": kinds[type(rule)], **asdict(rule), "reads": plain_kind(rule.reads)} for rule in self.rules_]
        return {"many": self.many, "unreadable": self.unreadable, "rules": plain}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The encoder that :meth:`to_dict` described; version 0.1 wrote ``levels`` for ``categories``."""
        found = cls(values.get("many", "ordinal"), values.get("unreadable", "error"))
        found.rules_ = tuple(map(_rule_from, values["rules"]))
        found.feature_names_in_ = np.array(found.needed, dtype=object)
        found.n_features_in_ = len(found.needed)
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _rule_from(values: Mapping[str, Any]) -> Rule:
    given = {"categories" if name == "levels" else name: value for name, value in values.items()}
    kind: Any = RULES[str(given.pop("kind"))]
    if "reads" in given:
        given["reads"] = kind_from(given["reads"])
    known = {field.name for field in fields(kind)}
    rule: Rule = kind(
        **{name: tuple(value) if isinstance(value, list) else value for name, value in given.items() if name in known}
    )
    return rule


def named_columns(X: Any) -> pd.DataFrame:
    """A table with names; columns of an array are x0, x1, …"""
    if isinstance(X, pd.DataFrame):
        return X.rename(columns=str)
    if hasattr(X, "to_pandas"):
        return X.to_pandas()  # type: ignore[no-any-return]
    if hasattr(X, "toarray"):
        raise InvalidType("X is a sparse matrix; TableEncoder reads tables: pass a DataFrame or an array.")
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


def _filled(values: Values) -> Any:
    """Text with a category of its own for missing values."""
    text = np.array(values, dtype=object)
    text[pd.isna(text)] = _MISSING
    return text


def _indicators(text: Any, categories: tuple[str, ...]) -> Array:
    number = pd.Index(categories, dtype=object).get_indexer(pd.Index(text, dtype=object))
    found = np.zeros((len(text), len(categories)))
    rows = np.flatnonzero(number >= 0)
    found[rows, number[rows]] = 1.0
    return found


def _count_unseen(values: Values, categories: tuple[str, ...]) -> int:
    text = pd.Series(values, dtype=object)
    strange: Flags = (text.notna() & ~text.isin(categories)).to_numpy()
    return int(strange.sum())


def _hash(category: str) -> int:
    return int.from_bytes(blake2b(category.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")

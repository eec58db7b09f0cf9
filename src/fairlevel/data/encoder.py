"""Turn a table of numbers, text, dates and missing values into a matrix, by rules learnt from training rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput

MOST_INDICATORS = 20  # a text column with more categories becomes one column of numbers
_MISSING = "(missing)"


@dataclass(frozen=True)
class NumberRule:
    """A column of numbers or dates; missing values become the median of the training rows."""

    name: str
    median: float

    def encode(self, column: pd.Series) -> Array:
        """(row,) -> (row, 1)."""
        values = _numbers(column)
        return np.where(np.isfinite(values), values, self.median)[:, None]

    @property
    def outputs(self) -> tuple[str, ...]:
        return (self.name,)


@dataclass(frozen=True)
class IndicatorRule:
    """A text column with few categories: one column of zeros and ones per category; an unseen category is all zeros."""

    name: str
    categories: tuple[str, ...]

    def encode(self, column: pd.Series) -> Array:
        """(row,) -> (row, category)."""
        indicators: Array = (_text(column).to_numpy()[:, None] == np.array(self.categories, dtype=object)).astype(
            np.float64
        )
        return indicators

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={category}" for category in self.categories)


@dataclass(frozen=True)
class OrdinalRule:
    """A text column with many categories, numbered in alphabetical order; an unseen category gets the middle number."""

    name: str
    categories: tuple[str, ...]

    def encode(self, column: pd.Series) -> Array:
        """(row,) -> (row, 1)."""
        numbers = {category: float(number) for number, category in enumerate(self.categories)}
        middle = (len(self.categories) - 1) / 2
        values = _text(column).map(numbers).fillna(middle)
        return np.asarray(values, dtype=np.float64)[:, None]

    @property
    def outputs(self) -> tuple[str, ...]:
        return (self.name,)


Rule = NumberRule | IndicatorRule | OrdinalRule
RULES: dict[str, type[NumberRule] | type[IndicatorRule] | type[OrdinalRule]] = {
    "number": NumberRule,
    "indicator": IndicatorRule,
    "ordinal": OrdinalRule,
}


@dataclass(frozen=True)
class TableEncoder:
    """One rule for each column that varies on the training rows, learnt from those rows alone."""

    rules: tuple[Rule, ...]

    @classmethod
    def fit(cls, frame: pd.DataFrame) -> Self:
        """Learn medians and categories from training rows; columns that are empty or constant there are left out."""
        if frame.columns.has_duplicates:
            twice = frame.columns[frame.columns.duplicated()][0]
            raise InvalidInput(f"The column {twice!r} appears more than once; give each column a name of its own.")
        rules = [_rule(str(name), frame[name]) for name in frame.columns]
        kept = tuple(rule for rule in rules if rule is not None)
        if not kept:
            raise InvalidInput(f"None of the {frame.shape[1]} columns varies on the {len(frame)} training rows.")
        return cls(kept)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the columns of the matrix."""
        return tuple(name for rule in self.rules for name in rule.outputs)

    @property
    def origin(self) -> tuple[int, ...]:
        """The number of the rule that each column of the matrix comes from."""
        return tuple(number for number, rule in enumerate(self.rules) for _ in rule.outputs)

    def transform(self, frame: pd.DataFrame) -> Array:
        """(row, column of the table) -> (row, column of the matrix)."""
        missing = [rule.name for rule in self.rules if rule.name not in frame]
        if missing:
            raise InvalidInput(f"The table lacks {', '.join(map(repr, missing))}, which the encoder was fitted on.")
        return np.hstack([rule.encode(frame[rule.name]) for rule in self.rules])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        kinds = {kind: name for name, kind in RULES.items()}
        return {"rules": [{"kind": kinds[type(rule)], **asdict(rule)} for rule in self.rules]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The encoder that :meth:`to_dict` described; version 0.1 wrote ``levels`` for ``categories``."""
        rules = []
        for given in values["rules"]:
            fields: dict[str, Any] = {
                "categories" if name == "levels" else name: tuple(value) if isinstance(value, list) else value
                for name, value in given.items()
            }
            kind: Any = RULES[str(fields.pop("kind"))]
            rules.append(kind(**fields))
        return cls(tuple(rules))


def _rule(name: str, column: pd.Series) -> Rule | None:
    """The rule for a column, or None if the column is empty or constant."""
    if _is_numeric(column):
        values = _numbers(column)
        known = values[np.isfinite(values)]
        return NumberRule(name, float(np.median(known))) if known.size and np.ptp(known) > 0 else None
    categories = tuple(sorted(_text(column).unique()))
    if len(categories) < 2:
        return None
    return IndicatorRule(name, categories) if len(categories) <= MOST_INDICATORS else OrdinalRule(name, categories)


def _is_numeric(column: pd.Series) -> bool:
    kinds = pd.api.types
    return bool(kinds.is_numeric_dtype(column.dtype) or kinds.is_datetime64_any_dtype(column.dtype))


def _numbers(column: pd.Series) -> Array:
    """Numbers as they are, dates as days since 1970; infinite values count as missing."""
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        dates = pd.to_datetime(column, utc=True)
        values = ((dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)).to_numpy(dtype=np.float64)
    else:
        values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.isfinite(values), values, np.nan)


def _text(column: pd.Series) -> pd.Series:
    return column.astype(object).where(column.notna(), _MISSING).astype(str)

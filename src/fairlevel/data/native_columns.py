"""Columns for predictors that read categories and missing values as they are: categories become whole numbers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.data.columns import Kind, Numbers, Texts, kind_from, kind_of, plain_kind, refuse_unreadable, text_of
from fairlevel.exceptions import UnseenLevels

Category = str | int | float | bool
MANY_UNSEEN = 0.05  # a larger share of rows with unseen categories is worth a warning


@dataclass(frozen=True)
class NativeColumns:
    """What each column holds, and the categories of text, in the order of their numbers; None for other columns."""

    kinds: tuple[Kind, ...]
    categories: tuple[tuple[Category, ...] | None, ...]

    @classmethod
    def fit(cls, frame: pd.DataFrame) -> Self:
        """Learn the categories of text columns and of columns of pandas' type ``category``."""
        kinds = tuple(kind_of(str(name), column) for name, column in frame.items())
        known = (
            _categories(column) if kind.is_text else None
            for kind, (_, column) in zip(kinds, frame.items(), strict=True)
        )
        return cls(kinds, tuple(known))

    @property
    def categorical(self) -> tuple[int, ...]:
        """Numbers of the columns that hold categories."""
        return tuple(number for number, known in enumerate(self.categories) if known is not None)

    def transform(self, frame: pd.DataFrame) -> Array:
        """(row, column) in float64. Missing values and categories that were not there in ``fit`` become NaN; dates
        become days since 1970. A cell that cannot be read as its column was in ``fit`` is an error.
        """
        columns, unseen = [], {}
        for (name, column), kind, known in zip(frame.items(), self.kinds, self.categories, strict=True):
            reading = kind.read(column)
            if known is None:
                refuse_unreadable(str(name), kind, column, reading.unreadable)
                columns.append(reading.values)
                continue
            columns.append(_codes(reading.values, known))
            unseen[str(name)] = int((np.isnan(columns[-1]) & column.notna().to_numpy()).sum())
        many = [f"{name!r} {count} of {len(frame)} rows" for name, count in unseen.items() if _are_many(count, frame)]
        if many:
            warnings.warn(f"Categories that the training rows lack: {', '.join(many)}.", UnseenLevels, stacklevel=4)
        return np.column_stack(columns) if columns else np.empty((len(frame), 0))

    def values(self, names: Sequence[str], x: Array) -> dict[str, Any]:
        """Back from numbers to what was read: numbers, and text with None where missing, by name."""
        found: dict[str, Any] = {}
        for number, (name, known) in enumerate(zip(names, self.categories, strict=True)):
            column = x[:, number]
            if known is not None:
                texts = np.array([*map(text_of, known), None], dtype=object)
                column = texts[np.where(np.isnan(column), len(known), column).astype(int)]
            found[name] = column
        return found

    def to_plain(self) -> list[Any]:
        """Plain values for JSON: the list of categories, or what else a column holds."""
        return [
            plain_kind(kind) if known is None else list(known)
            for kind, known in zip(self.kinds, self.categories, strict=True)
        ]

    @classmethod
    def from_plain(cls, values: Any) -> Self:
        """What :meth:`to_plain` wrote; version 0.1 wrote None for numbers."""
        kinds = [Texts() if isinstance(each, list) else kind_from(each) if each else Numbers() for each in values]
        return cls(tuple(kinds), tuple(tuple(each) if isinstance(each, list) else None for each in values))


def _are_many(count: int, frame: pd.DataFrame) -> bool:
    return count > 0 and count >= MANY_UNSEEN * len(frame)


def _categories(column: pd.Series) -> tuple[Category, ...]:
    known = column.dropna().astype(object).unique()
    plain = [value.item() if isinstance(value, np.generic) else value for value in known]
    if all(isinstance(value, bool | int | float) for value in plain):
        return tuple(sorted(plain))
    return tuple(sorted({text_of(value) for value in plain}))


def _codes(texts: Any, known: tuple[Category, ...]) -> Array:
    number: Mapping[str, float] = {text_of(category): float(code) for code, category in enumerate(known)}
    return np.array([number.get(text, np.nan) for text in texts], dtype=np.float64)

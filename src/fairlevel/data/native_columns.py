"""Columns for predictors that read categories and missing values as they are: categories become whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidType

Category = str | int | float | bool


@dataclass(frozen=True)
class NativeColumns:
    """The categories of each column, in the order of their numbers; None for a column of numbers or dates."""

    categories: tuple[tuple[Category, ...] | None, ...]

    @classmethod
    def fit(cls, frame: pd.DataFrame) -> Self:
        """Learn the categories of text columns and of columns of pandas' type ``category``."""
        return cls(tuple(_categories(column) for _, column in frame.items()))

    @property
    def categorical(self) -> tuple[int, ...]:
        """Numbers of the columns that hold categories."""
        return tuple(number for number, known in enumerate(self.categories) if known is not None)

    def transform(self, frame: pd.DataFrame) -> Array:
        """(row, column) in float64. Missing values and categories that were not there in ``fit`` become NaN; dates
        become days since 1970.
        """
        columns = [
            _numbers(str(name), column) if known is None else _codes(column, known)
            for (name, column), known in zip(frame.items(), self.categories, strict=True)
        ]
        return np.column_stack(columns) if columns else np.empty((len(frame), 0))

    def to_plain(self) -> list[list[Category] | None]:
        """Plain values for JSON."""
        return [None if known is None else list(known) for known in self.categories]

    @classmethod
    def from_plain(cls, values: Any) -> Self:
        """What :meth:`to_plain` wrote."""
        return cls(tuple(None if known is None else tuple(known) for known in values))


def is_category(column: pd.Series) -> bool:
    """Whether a column holds categories, not numbers or dates."""
    kinds = pd.api.types
    return not (kinds.is_numeric_dtype(column.dtype) or kinds.is_datetime64_any_dtype(column.dtype))


def _categories(column: pd.Series) -> tuple[Category, ...] | None:
    if not is_category(column):
        return None
    known = column.dropna().astype(object).unique()
    plain = [value.item() if isinstance(value, np.generic) else value for value in known]
    if all(isinstance(value, bool | int | float) for value in plain):
        return tuple(sorted(plain))
    return tuple(sorted({str(value) for value in plain}))


def _codes(column: pd.Series, known: tuple[Category, ...]) -> Array:
    values = column.astype(object).where(column.notna(), None)
    if any(isinstance(category, str) for category in known):
        values = values.map(str, na_action="ignore")
    number: Mapping[Category, float] = {category: float(code) for code, category in enumerate(known)}
    return np.array([number.get(value, np.nan) for value in values], dtype=np.float64)


def _numbers(name: str, column: pd.Series) -> Array:
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        dates = pd.to_datetime(column, utc=True)
        column = (dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
    try:
        values: Array = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InvalidType(
            f"Column {name!r} held numbers or dates in fit, and now holds something else ({error}); convert it, such "
            "as with pandas.to_numeric or pandas.to_datetime."
        ) from None
    return values

"""Columns for predictors that read categories and missing values as they are: categories become whole numbers, and
numbers the cells that were given.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.data.columns import Dates, Kind, Numbers, Texts, Truths, kind_from, kind_of, refuse_unreadable, text_of
from fairlevel.data.dates import dates_as_text
from fairlevel.data.features import as_table
from fairlevel.data.table_rules import warn_of_unseen
from fairlevel.exceptions import ChangedCells

Category = str | int | float | bool
SHOWN = 3  # columns that a warning names


@dataclass(frozen=True)
class NativeColumns:
    """What each column holds, and the categories of text, in the order of their numbers; None for other columns."""

    kinds: tuple[Kind, ...]
    categories: tuple[tuple[Category, ...] | None, ...]

    @classmethod
    def fit(cls, frame: pd.DataFrame) -> Self:
        """Learn the categories of text columns and of columns of pandas' type ``category``."""
        kinds = tuple(kind_of(str(name), column) for name, column in frame.items())
        columns = zip(kinds, frame.items(), strict=True)
        return cls(kinds, tuple(_categories(column) if kind.is_text else None for kind, (_, column) in columns))

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
            values = kind.read(column)
            refuse_unreadable(str(name), kind, column, values)
            if known is None:
                columns.append(values)
                continue
            code_of = {text_of(category): float(code) for code, category in enumerate(known)}
            columns.append(np.array([code_of.get(text, np.nan) for text in values], dtype=np.float64))
            unseen[str(name)] = int((np.isnan(columns[-1]) & column.notna().to_numpy()).sum())
        warn_of_unseen(unseen, len(frame))
        return np.column_stack(columns) if columns else np.empty((len(frame), 0))

    def values(self, names: Sequence[str], x: Array) -> dict[str, Any]:
        """Back from numbers to what was read: numbers, and text with None where missing, by name."""
        columns: dict[str, Any] = dict(zip(names, x.T, strict=True))
        for number in self.categorical:
            texts = np.array([*map(text_of, self.categories[number] or ()), None], dtype=object)
            codes = x[:, number]
            columns[names[number]] = texts[np.where(np.isnan(codes), -1, codes).astype(int)]
        return columns

    def to_plain(self) -> list[Any]:
        """Plain values for JSON: the list of categories, or what else a column holds."""
        return [
            kind.to_plain() if known is None else list(known)
            for kind, known in zip(self.kinds, self.categories, strict=True)
        ]

    @classmethod
    def from_plain(cls, values: Any) -> Self:
        """What :meth:`to_plain` wrote; version 0.1 wrote None for numbers."""
        known = [tuple(described) if isinstance(described, list) else None for described in values]
        kinds = [
            Texts() if categories is not None else kind_from(described) if described else Numbers()
            for described, categories in zip(values, known, strict=True)
        ]
        return cls(tuple(kinds), tuple(known))


def _categories(column: pd.Series) -> tuple[Category, ...]:
    known = column.dropna().astype(object).unique()
    plain = [value.item() if isinstance(value, np.generic) else value for value in known]
    if all(isinstance(value, bool | int | float) for value in plain):
        return tuple(sorted(plain))
    return tuple(sorted({text_of(value) for value in plain}))


@dataclass(frozen=True)
class WrittenColumn:
    """How the user wrote a column: its type, and, where its numbers do not say it, the first cell of each number. A
    date of another row is written in ``pattern``; other cells of other rows are missing.
    """

    dtype: Any
    cells: dict[float, Any] | None = None
    pattern: str | None = None

    @classmethod
    def of(cls, column: pd.Series, kind: Kind, values: Array) -> Self:
        """Of a column that was read as ``kind``, with these values, (row,)."""
        types = pd.api.types
        is_own_type = types.is_bool_dtype(column.dtype) or types.is_datetime64_any_dtype(column.dtype)
        if isinstance(kind, Numbers) or (is_own_type and not kind.is_text):
            return cls(column.dtype)
        known = column.notna().to_numpy()
        cells = {0.0: False, 1.0: True} if isinstance(kind, Truths) else {}
        cells |= dict(zip(values[known][::-1], column[known].astype(object)[::-1], strict=True))
        return cls(column.dtype, cells, kind.pattern if isinstance(kind, Dates) else None)

    def restore(self, values: Array) -> pd.Series:
        """(row,)."""
        if self.cells is not None:
            others = [None] * len(values) if self.pattern is None else dates_as_text(values, self.pattern)
            cells = [self.cells.get(value, other) for value, other in zip(values, others, strict=True)]
            return pd.Series(cells, dtype=object).astype(self.dtype)
        column = pd.Series(values)
        if pd.api.types.is_datetime64_any_dtype(self.dtype):
            dates = pd.to_datetime(column, unit="D", utc=True).dt.round("us")
            zone = getattr(self.dtype, "tz", None)
            return (dates.dt.tz_localize(None) if zone is None else dates.dt.tz_convert(zone)).astype(self.dtype)
        plain = np.isnan(values).any() and not pd.api.types.is_extension_array_dtype(self.dtype)
        return column if plain else column.astype(self.dtype)


@dataclass(frozen=True)
class WrittenFrame:
    """How X looked in ``fit``, for models that read it themselves: its columns by name; None for an array."""

    columns: dict[Any, WrittenColumn] | None

    @classmethod
    def of(cls, X: Any, native: NativeColumns | None) -> Self:
        """Of what ``fit`` was given; ``native`` says how its columns were read, None: as numbers."""
        table = as_table(X)
        if not isinstance(table, pd.DataFrame):
            return cls(None)
        if native is None:
            return cls({name: WrittenColumn(dtype) for name, dtype in table.dtypes.items()})
        read = zip(table.items(), native.kinds, native.transform(table).T, strict=True)
        return cls({name: WrittenColumn.of(column, kind, values) for (name, column), kind, values in read})

    def restore(self, x: Array) -> Any:
        """Rows as they were given, (row, feature): a frame with the same names and types, or the array itself.
        Cells are written as in ``fit``; categories that it did not know are missing.
        """
        if self.columns is None:
            return x
        restored = zip(self.columns.items(), x.T, strict=True)
        return pd.DataFrame({name: column.restore(values) for (name, column), values in restored})

    def warn_of_changes(self, X: Any, x: Array) -> None:
        """Say which columns of X, read as x, (row, feature), do not come back as they were given."""
        if self.columns is None:
            return
        said = []
        for (name, given), (_, restored) in zip(as_table(X).items(), self.restore(x).items(), strict=True):
            if given.reset_index(drop=True).equals(restored):
                continue
            old, new = given.to_numpy(dtype=object), restored.to_numpy(dtype=object)
            differs, known = pd.isna(old) != pd.isna(new), ~(pd.isna(old) | pd.isna(new))
            differs[known] = old[known] != new[known]
            if differs.any():
                row = int(differs.argmax())
                said.append(f"column {str(name)!r} has {old[row]!r} in row {row + 1}, which becomes {new[row]!r}")
        if said:
            warnings.warn(
                f"models= get X with other cells than were given: {', '.join(said[:SHOWN])}. Write each column of X "
                "in one way, or pass X as the numbers that the models read.",
                ChangedCells,
                stacklevel=4,  # the caller of fit
            )

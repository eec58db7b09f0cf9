"""Columns for predictors that read categories and missing values as they are: categories become whole numbers, and
numbers the cells that were given.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.data.columns import Dates, Kind, Numbers, Texts, Truths, kind_from, kind_of, refuse_unreadable, text_of
from fairlevel.data.dates import dates_as_text
from fairlevel.data.features import as_pandas, decimals_as_floats
from fairlevel.data.table_rules import MANY_UNSEEN, warn_of_cells
from fairlevel.exceptions import ChangedCells, UnseenLevels

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
        kinds = [kind_of(str(name), column) for name, column in frame.items()]
        columns = [column for _, column in frame.items()]
        known = (_categories(column) if kind.is_text else None for kind, column in zip(kinds, columns, strict=True))
        return cls(tuple(kinds), tuple(known))

    @property
    def categorical(self) -> tuple[int, ...]:
        """Numbers of the columns that hold categories."""
        return tuple(number for number, known in enumerate(self.categories) if known is not None)

    def transform(self, frame: pd.DataFrame) -> Array:
        """(row, column) in float64. Missing values and categories that were not there in ``fit`` become NaN; dates
        become days since 1970. A cell that cannot be read as its column was in ``fit`` is an error.
        """
        columns, many = [], {}
        for (name, column), kind, known in zip(frame.items(), self.kinds, self.categories, strict=True):
            values = kind.read(column)
            refuse_unreadable(str(name), kind, column, values)
            if known is None:
                columns.append(values)
                continue
            code_of = {text_of(category): float(code) for code, category in enumerate(known)}
            columns.append(np.array([code_of.get(text, np.nan) for text in values], dtype=np.float64))
            unseen = int((np.isnan(columns[-1]) & column.notna().to_numpy()).sum())
            if unseen >= MANY_UNSEEN * len(frame):
                many[str(name)] = unseen
        warn_of_cells(UnseenLevels, "Categories that the training rows lack", many, len(frame))
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
class GivenColumns:
    """How X looked: ``template`` is the frame without its rows, or None for an array; one of ``columns`` for each."""

    template: pd.DataFrame | None
    columns: tuple[WrittenColumn, ...] = ()

    @classmethod
    def of(cls, X: Any, native: NativeColumns | None) -> GivenColumns:
        """Of what ``fit`` was given; ``native`` says how its columns were read, None: as numbers."""
        if not hasattr(X, "columns"):
            return cls(None)
        frame = decimals_as_floats(as_pandas(X))
        if native is None:
            return cls(frame.iloc[:0], tuple(WrittenColumn(dtype) for dtype in frame.dtypes))
        columns = (column for _, column in frame.items())
        written = map(WrittenColumn.of, columns, native.kinds, native.transform(frame).T)
        return cls(frame.iloc[:0], tuple(written))

    def restore(self, x: Array) -> Any:
        """Rows as they were given, (row, feature): a frame with the same names and types, or the array itself.
        Cells are written as in ``fit``; categories that it did not know are missing.
        """
        if self.template is None:
            return x
        names = self.template.columns
        return pd.DataFrame(
            {name: column.restore(values) for name, column, values in zip(names, self.columns, x.T, strict=True)},
            columns=names,
        )

    def warn_of_changes(self, X: Any, x: Array) -> None:
        """Say which columns of X, read as x, (row, feature), do not come back as they were given."""
        if self.template is None:
            return
        given, restored = decimals_as_floats(as_pandas(X)), self.restore(x)
        changes = [_change(str(name), given[name], restored[name]) for name in given.columns]
        said = [change for change in changes if change is not None]
        if said:
            warnings.warn(
                f"models= get X with other cells than were given: {', '.join(said[:SHOWN])}. Write each column of X "
                "in one way, or pass X as the numbers that the models read.",
                ChangedCells,
                stacklevel=4,  # the caller of fit
            )


@dataclass(frozen=True)
class WrittenColumn:
    """How one column looked: its type, what it held, and, where that is not its type's, the first cell of each number.
    A date that was not there is written in the format of the others.
    """

    dtype: Any
    kind: Kind = Numbers()
    cells: Mapping[float, Any] | None = None

    @classmethod
    def of(cls, column: pd.Series, kind: Kind, values: Array) -> WrittenColumn:
        """Of a column that was read as ``kind``, with these values, (row,)."""
        types = pd.api.types
        is_own_type = types.is_bool_dtype(column.dtype) or types.is_datetime64_any_dtype(column.dtype)
        if isinstance(kind, Numbers) or (is_own_type and not kind.is_text):
            return cls(column.dtype)
        known = column.notna().to_numpy()
        cells = {0.0: False, 1.0: True} if isinstance(kind, Truths) else {}
        first = dict(zip(values[known][::-1], column[known].astype(object)[::-1], strict=True))
        return cls(column.dtype, kind, cells | first)

    def restore(self, values: Array) -> pd.Series:
        """(row,)."""
        if self.cells is not None:
            others = dates_as_text(values, self.kind.pattern) if isinstance(self.kind, Dates) else [None] * len(values)
            cells = [self.cells.get(value, other) for value, other in zip(values, others, strict=True)]
            return pd.Series(cells, dtype=object).astype(self.dtype)
        if pd.api.types.is_datetime64_any_dtype(self.dtype):
            dates = pd.to_datetime(pd.Series(values), unit="D", utc=True).dt.round("us")
            zone = getattr(self.dtype, "tz", None)
            return (dates.dt.tz_localize(None) if zone is None else dates.dt.tz_convert(zone)).astype(self.dtype)
        column = pd.Series(values)
        plain = np.isnan(values).any() and not pd.api.types.is_extension_array_dtype(self.dtype)
        return column if plain else column.astype(self.dtype)


def _change(name: str, given: pd.Series, restored: pd.Series) -> str | None:
    """The first cell that differs, in words; None where all are the same. Missing cells are the same."""
    given = given.reset_index(drop=True)
    if given.equals(restored):
        return None
    old, new = (column.to_numpy(dtype=object) for column in (given, restored))
    known = (given.notna() & restored.notna()).to_numpy()
    differs = (given.isna() != restored.isna()).to_numpy(copy=True)
    differs[known] = old[known] != new[known]
    if not differs.any():
        return None
    first = int(differs.argmax())
    return f"column {name!r} has {old[first]!r} in row {first + 1}, which becomes {new[first]!r}"

"""From the numbers that a fit works with back to the columns that the user gave."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.data.columns import Dates, Kind, Numbers, Texts, Truths, text_of
from fairlevel.data.dates import dates_as_text, format_of_dates
from fairlevel.data.decimals import decimals_as_floats
from fairlevel.data.features import as_pandas
from fairlevel.data.native_columns import NativeColumns
from fairlevel.exceptions import ChangedCells

SHOWN = 3  # columns that a warning names


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
        frame = _frame(X)
        kinds = (Numbers(),) * frame.shape[1] if native is None else native.kinds
        known = (None,) * frame.shape[1] if native is None else native.categories
        columns = zip((column for _, column in frame.items()), kinds, known, strict=True)
        return cls(frame.iloc[:0], tuple(WrittenColumn.of(*each) for each in columns))

    def restore(self, x: Array) -> Any:
        """Rows as they were given, (row, feature): a frame with the same names and types, or the array itself.
        Cells are written as in ``fit``; categories that it did not know are missing.
        """
        if self.template is None:
            return x
        columns = {
            name: column.restore(x[:, number])
            for number, (name, column) in enumerate(zip(self.template.columns, self.columns, strict=True))
        }
        return pd.DataFrame(columns, columns=self.template.columns)

    def warn_of_changes(self, X: Any, x: Array) -> None:
        """Say which columns of X, read as x, (row, feature), do not come back as they were given."""
        if self.template is None:
            return
        given, restored = _frame(X), self.restore(x)
        found = [_change(str(name), given[name], restored[name]) for name in given.columns]
        changes = [each for each in found if each is not None]
        if changes:
            warnings.warn(
                f"models= get X with other cells than were given: {', '.join(changes[:SHOWN])}. Write each column of X "
                "in one way, or pass X as the numbers that the models read.",
                ChangedCells,
                stacklevel=4,  # the caller of fit
            )


@dataclass(frozen=True)
class WrittenColumn:
    """How one column looked: its type; the cell of each category, or of False and True, by number; and the format of
    dates that are text.
    """

    dtype: Any
    cells: tuple[Any, ...] | None = None
    date_format: str | None = None

    @classmethod
    def of(cls, column: pd.Series, kind: Kind, known: tuple[Any, ...] | None) -> WrittenColumn:
        """Of a column that was read as ``kind``, with these categories."""
        types = pd.api.types
        if isinstance(kind, Dates) and not types.is_datetime64_any_dtype(column.dtype):
            return cls(column.dtype, date_format=format_of_dates(_distinct(column), kind.pattern))
        if isinstance(kind, Truths) and not types.is_bool_dtype(column.dtype):
            return cls(column.dtype, _truths_as_written(_distinct(column)))
        if isinstance(kind, Texts) and known is not None:
            return cls(column.dtype, _as_written(_distinct(column), known))
        return cls(column.dtype)

    def restore(self, values: Array) -> pd.Series:
        """(row,)."""
        missing = np.isnan(values)
        if self.date_format is not None:
            return pd.Series(dates_as_text(values, self.date_format), dtype=object).astype(self.dtype)
        if self.cells is not None:
            cells = pd.Series([*self.cells, None], dtype=object).to_numpy()
            return pd.Series(cells[np.where(missing, len(self.cells), values).astype(int)], dtype=object).astype(
                self.dtype
            )
        if pd.api.types.is_datetime64_any_dtype(self.dtype):
            dates = pd.to_datetime(pd.Series(values), unit="D", utc=True).dt.round("us")
            zone = getattr(self.dtype, "tz", None)
            return (dates.dt.tz_localize(None) if zone is None else dates.dt.tz_convert(zone)).astype(self.dtype)
        column = pd.Series(values)
        plain = missing.any() and not pd.api.types.is_extension_array_dtype(self.dtype)
        return column if plain else column.astype(self.dtype)


def _frame(X: Any) -> pd.DataFrame:
    """X as a frame of pandas, with numbers of type Decimal as 64-bit numbers."""
    return decimals_as_floats(as_pandas(X))  # type: ignore[no-any-return]


def _distinct(column: pd.Series) -> Any:
    return pd.unique(column.dropna().astype(object))


def _as_written(cells: Sequence[Any], known: Sequence[Any]) -> tuple[Any, ...]:
    """For each category the first cell that stands for it."""
    found: dict[str, Any] = {}
    for cell in cells:
        found.setdefault(text_of(cell), cell)
    return tuple(found.get(text_of(category), category) for category in known)


def _truths_as_written(cells: Sequence[Any]) -> tuple[Any, Any]:
    """The first cells that stand for False and for True."""
    found = {0: False, 1: True}
    read = Truths().read(pd.Series(cells, dtype=object)).values
    for cell, value in reversed(list(zip(cells, read, strict=True))):
        found[int(value)] = cell
    return found[0], found[1]


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

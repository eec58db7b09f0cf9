"""Read and write tables as CSV or Parquet; a file is never left half-written."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.dataset

from fairlevel.arrays import Index
from fairlevel.cli.checks import encoding, is_parquet, not_utf8, require_columns, require_writer, separator
from fairlevel.data.columns import GAPS, Numbers, are_numbers, kind_of, numbers_of
from fairlevel.data.whole_files import write_whole
from fairlevel.exceptions import InvalidInput, InvalidType

ROWS_AS_WRITTEN = 200_000  # of which the cells are looked at as they are written
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class FileRows:
    """Rows of a file, labelled by their number in it, counted from 0, and how many rows the file has."""

    table: pd.DataFrame
    in_file: int


def read_rows(
    path: Path,
    columns: Sequence[str] | None = None,
    *,
    text: Sequence[str] = (),
    words: Sequence[str] = (),
    most: int = sys.maxsize,
    seed: int = 0,
    fewest: int = 2,
) -> FileRows:
    """The named columns of a CSV or Parquet file, or all; of more than ``most`` rows, so many, sampled at random and in
    order. A file that cannot be read, or that has fewer rows than ``fewest``, is an error of one sentence. CSV columns
    named in ``text`` stay as they are written, but for words such as NA, which are gaps; in those named in ``words``
    only empty cells are.
    """
    require_columns(path, columns or ())
    names = None if columns is None else list(dict.fromkeys(columns))
    try:
        if is_parquet(path):
            rows = _sample_parquet(path, names, most, seed)
        else:
            table = _read_csv(path, text, words)
            chosen = _sampled(len(table), most, seed)
            rows = FileRows((table if names is None else table[names]).iloc[chosen], len(table))
    except UnicodeDecodeError as error:
        raise not_utf8(path, error) from None
    except pd.errors.ParserWarning:
        raise InvalidInput(f"{path.name!r} cannot be read: line 2 has more fields than the header.") from None
    except (ValueError, OSError) as error:
        reason = " ".join(str(error).replace("Error tokenizing data. C error:", "").split())
        raise InvalidInput(f"{path.name!r} cannot be read: {reason or 'it is empty'}.") from None
    if rows.in_file < fewest:
        raise InvalidInput(f"{path.name!r} has {rows.in_file} rows; at least {fewest} are needed.")
    if not is_parquet(path):
        _refuse_points_of_thousands(path, rows.table)
    return rows


def _sampled(count: int, most: int, seed: int) -> Index:
    """Rows of ``count``, in order."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.argpartition(np.random.default_rng(seed).random(count), most)[:most])


def _sample_parquet(path: Path, columns: list[str] | None, most: int, seed: int) -> FileRows:
    """An index that pandas has stored in the file becomes columns if it has names."""
    stored = pyarrow.dataset.dataset(path, format="parquet")
    count = stored.count_rows()
    chosen = _sampled(count, most, seed)
    frame = (stored.to_table(columns) if count <= most else stored.take(chosen, columns=columns)).to_pandas()
    named = [name for name in frame.index.names if name is not None and name not in frame.columns]
    return FileRows((frame.reset_index(level=named) if named else frame).set_axis(chosen, axis=0), count)


def _read_csv(path: Path, text: Sequence[str], words: Sequence[str]) -> pd.DataFrame:
    """The whole file: what a column holds is decided by all of it, and a row with too many fields is an error, which
    pandas finds where all columns are read.
    """
    how: dict[str, Any] = {"sep": separator(path), "encoding": encoding(path), "index_col": False}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        columns = pd.read_csv(path, **how, nrows=0).columns
        table: pd.DataFrame = pd.read_csv(
            path,
            **how,
            dtype=dict.fromkeys((*text, *words), "str"),
            keep_default_na=False,
            na_values={name: [""] if name in words else list(GAPS) for name in columns},
            low_memory=False,
        )
    return table


def as_written(path: Path, rows: int | None = None) -> pd.DataFrame:
    """The cells of a CSV file as text, of the first rows or of all: codes with leading zeros, long numbers, the word
    NA.
    """
    how: dict[str, Any] = {"sep": separator(path), "encoding": encoding(path), "index_col": False}
    table: pd.DataFrame = pd.read_csv(path, **how, dtype=str, keep_default_na=False, nrows=rows)
    return table


def _refuse_points_of_thousands(path: Path, table: pd.DataFrame) -> None:
    """Refuse columns in which all points are followed by three digits, so that 2.741 may be two thousand seven hundred
    and forty-one, where decimal commas stand in another column, or semicolons between columns and whole numbers beside
    such cells.
    """
    comma = next((name for name, column in table.items() if _has_decimal_commas(column)), None)
    suspects = [str(name) for name, column in table.items() if column.dtype.kind == "f"]
    if not suspects or (comma is None and separator(path) != ";"):
        return
    for name, cells in as_written(path, ROWS_AS_WRITTEN)[suspects].items():
        pointed, whole = cells[cells.str.contains(".", regex=False)], cells[cells.str.fullmatch(r"\s*[+-]?\d+\s*")]
        grouped = pointed.str.fullmatch(r"\s*[+-]?[1-9]\d{0,2}\.\d{3}\s*")
        if pointed.empty or not grouped.all() or (comma is None and whole.empty):
            continue
        beside = f"whole numbers such as {whole.iloc[0]!r}" if comma is None else f"the decimal commas of {comma!r}"
        raise InvalidInput(
            f"Column {name!r} holds {pointed.iloc[0]!r} beside {beside}, so that its points may separate thousands; "
            f"write such numbers as {pointed.iloc[0].replace('.', '')!r}, or decimals as "
            f"{pointed.iloc[0].replace('.', ',')!r}."
        )


def _has_decimal_commas(column: pd.Series) -> bool:
    """Whether a column of text holds numbers, of which some have a comma."""
    if column.dtype.kind in "biufMm":
        return False
    cells = column.dropna().astype(str)
    return bool(cells.str.contains(",", regex=False).any()) and bool(np.isfinite(Numbers(",").read(cells)).all())


def read_numbers(table: pd.DataFrame, column: str) -> pd.Series:
    """A column as numbers, also with a decimal comma; other text is an error that names its first row."""
    values, commas = numbers_of(table[column]), Numbers(",")
    strange = table[column][values.isna() & table[column].notna()]
    if strange.empty:
        return values
    with_comma = commas.read(table[column])
    if commas.unreadable(table[column], with_comma).any() or kind_of(column, table[column]) != commas:
        raise InvalidType(
            f"Column {column!r} holds {strange.iloc[0]!r} (row {int(strange.index[0]) + 1}); numbers are needed."
        )
    return pd.Series(with_comma, index=table.index, name=column)


def read_predictions(table: pd.DataFrame, column: str) -> pd.Series:
    """A column as finite numbers; a gap or an infinite number is an error that names its first row."""
    values = read_numbers(table, column)
    bad = values[~np.isfinite(values)]
    if len(bad):
        raise InvalidInput(
            f"Column {column!r} holds {len(bad)} missing or infinite values, the first in row "
            f"{int(bad.index[0]) + 1}; a prediction is needed in every row: drop those rows."
        )
    return values


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write CSV or Parquet, depending on the ending of the name; an existing file is replaced only when the new one is
    complete.
    """
    require_writer(path)
    if is_parquet(path):
        write_whole(path, lambda partial: table.to_parquet(partial, index=False))
    else:
        write_whole(path, lambda partial: without_formulas(table).to_csv(partial, index=False))


def without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """The same table for CSV: text and names that begin with =, +, -, @, a tab or a line break, and are no numbers in
    any notation, get an apostrophe in front. Spreadsheets then show them instead of running them; Parquet keeps them as
    they are.
    """
    safe = table.copy(deep=False)
    for name, column in table.select_dtypes(exclude=["number", "bool", "datetime", "datetimetz", "timedelta"]).items():
        safe[name] = _with_apostrophes(column.astype(object))
    return safe.set_axis(_with_apostrophes(pd.Series(map(str, safe.columns), dtype=object)), axis=1)


def _with_apostrophes(cells: pd.Series) -> pd.Series:
    """In front of cells that a spreadsheet may run, (row,) -> (row,)."""
    risky = np.array([isinstance(cell, str) and cell.startswith(_FORMULA_STARTS) for cell in cells], dtype=bool)
    risky[risky] = ~are_numbers(cells[risky])
    return cells.where(~risky, "'" + cells.where(risky, "").astype(str))

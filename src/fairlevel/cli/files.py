"""Read and write tables as CSV or Parquet; a file is never left half-written."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet

from fairlevel.cli.checks import (
    encoding,
    is_parquet,
    not_utf8,
    require_columns,
    require_readable,
    require_writer,
    separator,
)
from fairlevel.cli.csv_cells import without_formulas
from fairlevel.cli.decimal_points import refuse_points_of_thousands, text_cells
from fairlevel.data.columns import GAPS, Numbers, kind_of, numbers_of
from fairlevel.data.whole_files import write_whole
from fairlevel.exceptions import InvalidInput, InvalidType

_PIECE = 200_000  # rows read at a time
WRITERS: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    ".csv": lambda table, path: without_formulas(table).to_csv(path, index=False),
    ".parquet": lambda table, path: table.to_parquet(path, index=False),
}


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write CSV or Parquet, depending on the ending of the name; an existing file is replaced only when the new one is
    complete.
    """
    require_writer(path)
    write_whole(path, lambda partial: WRITERS[path.suffix.lower()](table, partial))


def read_columns(
    path: Path,
    wanted: Sequence[str] | None = None,
    text: Sequence[str] = (),
    words: Sequence[str] = (),
    fewest: int = 2,
) -> pd.DataFrame:
    """Read the wanted columns of a CSV or Parquet file, or all; an unreadable file, or one with fewer
    rows than ``fewest``, is an error of one sentence. CSV columns named in ``text`` stay as they are written, but for
    words such as NA, which are gaps; in those named in ``words`` only empty cells are.
    """
    require_columns(path, wanted or ())
    columns = None if wanted is None else list(dict.fromkeys(wanted))
    try:
        table = (
            _flat(pd.read_parquet(path, columns=columns)) if is_parquet(path) else _read_csv(path, columns, text, words)
        )
    except (ValueError, OSError, pd.errors.ParserWarning) as error:
        raise _unreadable(path, error) from None
    if len(table) < fewest:
        raise InvalidInput(f"{path.name!r} has {len(table)} rows; at least {fewest} are needed.")
    if not is_parquet(path):
        refuse_points_of_thousands(path, table)
    return table if columns is None else table[columns]


def as_written(path: Path, table: pd.DataFrame) -> pd.DataFrame:
    """The cells of a CSV file as text, as they are written: codes with leading zeros, long numbers, the word NA. A
    Parquet file knows its types; its ``table`` is given back.
    """
    if is_parquet(path):
        return table
    return text_cells(path)


def read_numbers(table: pd.DataFrame, column: str) -> pd.Series:
    """A column as numbers, also with a decimal comma; other text is an error that names its first row."""
    values = numbers_of(table[column])
    strange = table[column][values.isna() & table[column].notna()]
    if len(strange):
        commas = Numbers(",")
        with_comma = commas.read(table[column])
        if not commas.unreadable(table[column], with_comma).any() and kind_of(column, table[column]) == commas:
            return pd.Series(with_comma, index=table.index, name=column)
        raise InvalidType(
            f"Column {column!r} holds {strange.iloc[0]!r} (row {int(strange.index[0]) + 1}); numbers are needed."
        )
    return values


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


def read_target(table: pd.DataFrame, column: str, prediction: str) -> pd.Series:
    """A column as numbers; two words as 0 and 1, in the order of :func:`two_words`."""
    words = two_words(table[column], prediction)
    if words is None:
        return read_numbers(table, column)
    return table[column].map(str, na_action="ignore").map({words[0]: 0.0, words[1]: 1.0})


def two_words(values: pd.Series, prediction: str) -> tuple[str, str] | None:
    """The words that stand for 0 and 1 in a column that holds two. 1 is the word that the name of the prediction ends
    with, as in prediction_yes, else the second in the alphabet.
    """
    words = sorted({str(value) for value in values.dropna().unique()}) if values.dtype.kind not in "biuf" else []
    if len(words) != 2 or pd.to_numeric(pd.Series(words), errors="coerce").notna().any():
        return None
    first, second = words
    return (second, first) if prediction.endswith(f"_{first}") else (first, second)


def read_sample(
    path: Path, most: int, seed: int, text: Sequence[str] = (), words: Sequence[str] = ()
) -> tuple[pd.DataFrame, int]:
    """At most ``most`` rows of a file, sampled at random while it is read piece by piece and kept in order, and the
    number of all rows. Row labels count the rows of the file from 0. CSV columns that hold text in any piece, or are
    named in ``text`` or ``words``, are read as in :func:`read_columns`.
    """
    require_readable(path)
    random, kept, keys, rows = np.random.default_rng(seed), [], np.empty(0), 0
    kinds: dict[str, set[str]] = {}
    try:
        for piece in _pieces(path, text, words):
            _add_kinds(kinds, piece)
            piece.index = pd.RangeIndex(rows, rows + len(piece))
            rows += len(piece)
            keys = np.concatenate([keys, random.random(len(piece))])
            kept.append(piece)
            if len(keys) > most:
                joined, chosen = pd.concat(kept), np.sort(np.argpartition(keys, most)[:most])
                kept, keys = [joined.iloc[chosen]], keys[chosen]
    except (ValueError, OSError, pd.errors.ParserWarning) as error:
        raise _unreadable(path, error) from None
    if rows < 2:
        raise InvalidInput(f"{path.name!r} has {rows} rows; at least 2 are needed.")
    mixed = _mixed(kinds)
    if mixed and not is_parquet(path):
        return read_sample(path, most, seed, [*text, *mixed], words)
    sample = pd.concat(kept)
    if not is_parquet(path):
        refuse_points_of_thousands(path, sample)
    return sample, rows


def _add_kinds(kinds: dict[str, set[str]], piece: pd.DataFrame) -> None:
    """Note what each column of a piece was read as; an empty one says nothing."""
    for name, column in piece.items():
        if column.notna().any():
            kinds.setdefault(str(name), set()).add("number" if column.dtype.kind in "iuf" else column.dtype.kind)


def _mixed(kinds: dict[str, set[str]]) -> list[str]:
    """Columns that pieces were read of as different things."""
    return [name for name, found in kinds.items() if len(found) > 1]


def _pieces(path: Path, text: Sequence[str], words: Sequence[str]) -> Iterator[pd.DataFrame]:
    if is_parquet(path):
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(_PIECE):
            yield _flat(batch.to_pandas())
        return
    how: dict[str, Any] = {"sep": separator(path), "encoding": encoding(path), "index_col": False}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        columns = pd.read_csv(path, **how, nrows=0).columns
        yield from pd.read_csv(
            path,
            **how,
            chunksize=_PIECE,
            dtype=dict.fromkeys((*text, *words), "str"),
            keep_default_na=False,
            na_values={name: [""] if name in words else list(GAPS) for name in columns},
            low_memory=False,
        )


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows numbered from 0; an index that pandas has stored in a file becomes columns if it has names."""
    named = [name for name in frame.index.names if name is not None and name not in frame.columns]
    return (frame.reset_index(level=named) if named else frame).reset_index(drop=True)


def _read_csv(path: Path, columns: list[str] | None, text: Sequence[str], words: Sequence[str]) -> pd.DataFrame:
    """Read in pieces, so that unwanted columns do not fill the memory; a row with too many fields is an error. A column
    that holds text in any piece is text in all of them.
    """
    kinds: dict[str, set[str]] = {}
    parts = []
    for piece in _pieces(path, text, words):
        parts.append(piece if columns is None else piece[columns])
        _add_kinds(kinds, parts[-1])
    mixed = _mixed(kinds)
    return _read_csv(path, columns, [*text, *mixed], words) if mixed else pd.concat(parts, ignore_index=True)


def _unreadable(path: Path, error: Exception) -> InvalidInput:
    if isinstance(error, UnicodeDecodeError):
        return not_utf8(path, error)
    if isinstance(error, pd.errors.ParserWarning):
        return InvalidInput(f"{path.name!r} cannot be read: line 2 has more fields than the header.")
    reason = " ".join(str(error).replace("Error tokenizing data. C error:", "").split())
    return InvalidInput(f"{path.name!r} cannot be read: {reason or 'it is empty'}.")

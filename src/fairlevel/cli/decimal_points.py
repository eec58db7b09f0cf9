"""Points in CSV files that separate thousands: 2.741 may be two thousand seven hundred and forty-one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from fairlevel.cli.checks import encoding, separator
from fairlevel.data.columns import Numbers
from fairlevel.exceptions import InvalidInput

_GROUPED = r"\s*[+-]?[1-9]\d{0,2}\.\d{3}\s*"


def refuse_points_of_thousands(path: Path, table: pd.DataFrame) -> None:
    """Refuse columns read from a file in which all points are followed by three digits, where decimal commas stand in
    another column, or semicolons between columns and whole numbers beside such cells.
    """
    suspects = [str(name) for name, column in table.items() if _may_be_thousands(column)]
    if not suspects:
        return
    comma = next((name for name, column in table.items() if _has_decimal_commas(column)), None)
    if comma is None and separator(path) != ";":
        return
    for name, cells in _as_written(path, suspects):
        pointed = cells[cells.str.contains(".", regex=False)]
        whole = cells[~cells.str.contains(".", regex=False)]
        if not pointed.str.fullmatch(_GROUPED).all() or (comma is None and whole.empty):
            continue
        beside = f"whole numbers such as {whole.iloc[0]!r}" if comma is None else f"the decimal commas of {comma!r}"
        raise InvalidInput(
            f"Column {name!r} holds {pointed.iloc[0]!r} beside {beside}, so that its points may separate thousands; "
            f"write such numbers as {pointed.iloc[0].replace('.', '')!r}, or decimals as "
            f"{pointed.iloc[0].replace('.', ',')!r}."
        )


def _may_be_thousands(column: pd.Series) -> bool:
    """Whether all numbers are below 1000 in size, with at most three decimals, and some have three."""
    if column.dtype.kind != "f":
        return False
    values = column.to_numpy(dtype=np.float64)
    values = np.abs(values[np.isfinite(values)])
    thousandths = np.rint(values * 1000)
    fits = bool((values < 1000).all() and np.allclose(values * 1000, thousandths, rtol=0, atol=1e-6))
    return fits and bool((thousandths % 10 != 0).any())


def _has_decimal_commas(column: pd.Series) -> bool:
    """Whether a column of text holds numbers, of which some have a comma."""
    if column.dtype.kind in "biufMm":
        return False
    cells = column.dropna().astype(str)
    return bool(cells.str.contains(",", regex=False).any()) and not Numbers(",").read(cells).unreadable.any()


def _as_written(path: Path, columns: list[str]) -> Iterator[tuple[str, pd.Series]]:
    """The cells of some columns as text, without gaps."""
    table = pd.read_csv(path, sep=separator(path), encoding=encoding(path), index_col=False, dtype=str)
    for name in columns:
        yield name, table[name].dropna()

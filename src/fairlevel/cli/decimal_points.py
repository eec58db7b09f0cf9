"""Points in CSV files that separate thousands: 2.741 may be two thousand seven hundred and forty-one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from fairlevel.cli.checks import encoding, separator
from fairlevel.data.columns import Numbers
from fairlevel.exceptions import InvalidInput

ROWS = 200_000  # of which the cells are looked at as they are written
_WHOLE = r"\s*[+-]?\d+\s*"
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
    written = text_cells(path, ROWS)
    for name in suspects:
        cells = written[name]
        pointed, whole = cells[cells.str.contains(".", regex=False)], cells[cells.str.fullmatch(_WHOLE)]
        if pointed.empty or not pointed.str.fullmatch(_GROUPED).all() or (comma is None and whole.empty):
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
    commas = Numbers(",")
    return bool(cells.str.contains(",", regex=False).any()) and not commas.unreadable(cells, commas.read(cells)).any()


def text_cells(path: Path, rows: int | None = None) -> pd.DataFrame:
    """The cells of a CSV file as text, as they are written, of the first rows or of all."""
    return pd.read_csv(
        path,
        sep=separator(path),
        encoding=encoding(path),
        index_col=False,
        dtype=str,
        keep_default_na=False,
        nrows=rows,
    )

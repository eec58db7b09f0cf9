"""Cells that spreadsheets would run as formulas."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairlevel.arrays import Flags
from fairlevel.data.columns import are_numbers

_STARTS = ("=", "+", "-", "@", "\t", "\r")


def without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """The same table for CSV: text and names that begin with =, +, -, @, a tab or a line break, and are no numbers in
    any notation, get an apostrophe in front. Spreadsheets then show them instead of running them; Parquet keeps them as
    they are.
    """
    text = [name for name, kind in table.dtypes.items() if not pd.api.types.is_numeric_dtype(kind)]
    safe = table.copy(deep=False)
    for name in text:
        column = safe[name].astype(object)
        risky = _are_formulas(column)
        if risky.any():
            safe[name] = column.where(~risky, "'" + column.where(risky, "").astype(str))
    risky = _are_formulas(pd.Series([str(name) for name in safe.columns], dtype=object))
    names = [f"'{name}" if formula else name for name, formula in zip(safe.columns, risky, strict=True)]
    return safe.set_axis(names, axis=1)


def _are_formulas(cells: pd.Series) -> Flags:
    """Which cells a spreadsheet may run, (row,)."""
    starts: Flags = np.array([isinstance(cell, str) and cell.startswith(_STARTS) for cell in cells], dtype=bool)
    starts[starts] = ~are_numbers(cells[starts])
    return starts

"""Cells that spreadsheets would run as formulas."""

from __future__ import annotations

import pandas as pd

_STARTS = ("=", "+", "-", "@", "\t", "\r")


def without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """The same table for CSV: text and names that begin with =, +, -, @, a tab or a line break, and are no numbers, get
    an apostrophe in front. Spreadsheets then show them instead of running them; Parquet keeps them as they are.
    """
    text = [name for name, kind in table.dtypes.items() if not pd.api.types.is_numeric_dtype(kind)]
    safe = table.copy(deep=False)
    for name in text:
        column = safe[name].astype(object)
        risky = column.map(lambda value: isinstance(value, str) and _is_formula(value))
        if risky.any():
            safe[name] = column.where(~risky, "'" + column.where(risky, "").astype(str))
    return safe.rename(columns=lambda name: f"'{name}" if _is_formula(str(name)) else name)


def _is_formula(text: str) -> bool:
    if not text.startswith(_STARTS):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False

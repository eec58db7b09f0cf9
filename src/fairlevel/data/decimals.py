"""Numbers of Python's type Decimal, as databases and Parquet files hold them, become 64-bit numbers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.data.features import as_pandas, is_frame
from fairlevel.data.numbers import Number


def without_decimals(values: Any) -> Any:
    """An array of objects that are numbers, some of them of type Decimal, as float64, missing ones as NaN; any other
    array as it is.
    """
    if values.dtype != object:
        return values
    missing = pd.isna(values)
    if not _are_decimals(values[~missing]):
        return values
    return np.where(missing, np.nan, values).astype(np.float64)


def decimals_as_floats(X: Any) -> Any:
    """A frame whose columns of type Decimal are float64; anything else as it is."""
    if not is_frame(X):
        return X
    if not any(_may_hold_decimals(dtype) for dtype in X.dtypes):
        return X
    frame = as_pandas(X)
    if not frame.columns.is_unique:
        return X
    changed = frame.copy(deep=False)
    for name, column in frame.items():
        if _may_hold_decimals(column.dtype):
            changed[name] = without_decimals(column.to_numpy(dtype=object))
    return changed


def _may_hold_decimals(dtype: Any) -> bool:
    """By the type of a column of pandas, pyarrow or polars."""
    name = str(dtype).lower()
    return name == "object" or "decimal" in name


def _are_decimals(cells: Any) -> bool:
    return all(isinstance(cell, Number) for cell in cells.flat) and any(
        isinstance(cell, Decimal) for cell in cells.flat
    )

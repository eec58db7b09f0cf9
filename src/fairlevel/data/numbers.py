"""What counts as a number: guards that every reader of arrays shares."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput, InvalidType

Number = int | float | np.number | Decimal
"""Types of a single number among objects."""

LARGEST = 1e150  # the square of a larger number overflows
SMALLEST = 1e-150  # the square of a smaller one is zero
SMALLEST_FEATURE = 1e-30  # LightGBM reads numbers below 1e-35 as zero
MOST_EXACT = 2**53  # whole numbers up to here are exact as 64-bit numbers
MOST_DENSE = 200_000_000  # numbers that a sparse matrix may have as an array: 1.6 GB

_ROUNDING = 8 * np.finfo(np.float64).eps


def is_sparse(values: Any) -> bool:
    """Whether these are a sparse matrix of SciPy, without importing it."""
    return hasattr(values, "toarray") and hasattr(values, "nnz")


def as_cells(values: Any) -> Any:
    """An array of the cells as they are: NumPy would write the numbers of a list of rows as text beside text."""
    array = np.asarray(values)
    return np.asarray(values, dtype=object) if array.dtype.kind == "U" and array is not values else array


def refuse_lazy(name: str, values: Any) -> None:
    """Refuse a LazyFrame of polars, which holds a plan instead of rows, and a tensor whose gradients would be lost."""
    if getattr(values, "requires_grad", False):
        raise InvalidType(f"{name} is a tensor that requires gradients, which end here; pass {name}.detach().")
    if hasattr(values, "collect") and hasattr(values, "collect_schema"):
        raise InvalidType(f"{name} is a {type(values).__name__}, which holds no rows yet; pass {name}.collect().")


def refuse_other_kinds(name: str, values: Any) -> None:
    """Refuse masked entries, dates, spans of time and complex numbers, which NumPy would turn into numbers silently,
    and sparse matrices and frames without rows, which it does not read.
    """
    refuse_lazy(name, values)
    if is_sparse(values):
        raise InvalidType(f"{name} is a sparse matrix; an array is needed: pass {name}.toarray().")
    hidden = int(np.ma.getmaskarray(values).sum()) if np.ma.isMaskedArray(values) else 0
    if hidden:
        raise InvalidInput(
            f"{name} is a masked array with {hidden} masked values; drop those rows, or fill them with {name}.filled()."
        )
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    arrow = not kind and hasattr(values, "to_numpy") and not hasattr(values, "columns")  # a column of polars or pyarrow
    if kind == "O" or arrow or (not kind and isinstance(values, list | tuple)):
        kind = np.asarray(values).dtype.kind
    if kind in ("M", "m"):
        array = f"{name}.to_numpy()" if arrow else name
        raise InvalidType(
            f"{name} holds dates or times; numbers are needed, such as days since the first date: "
            f"({array} - {array}.min()) / numpy.timedelta64(1, 'D')."
        )
    if kind == "c":
        raise InvalidInput(f"Complex data not supported: {name} holds complex numbers; pass {name}.real.")


def loses_digits(numbers: Any) -> bool:
    """Whether some of these whole numbers, in an array or a column, become equal as floating-point numbers."""
    if not len(numbers) or max(int(numbers.max()), -int(numbers.min())) <= MOST_EXACT:
        return False
    return len(pd.unique(numbers)) > len(pd.unique(numbers.astype(np.float64)))


def refuse_lost_digits(name: str, numbers: Array) -> None:
    """Refuse whole numbers that differ, but would be the same as floating-point numbers; (row,) or (row, 1)."""
    if numbers.dtype.kind in "iu" and loses_digits(numbers.reshape(-1)):
        raise InvalidInput(
            f"{name} holds whole numbers that differ beyond 16 digits, which floating-point numbers do not keep; pass "
            f"{name} - {name}.min()."
        )


def as_dense(X: Any) -> Any:
    """A sparse matrix as an array, where that fits, and a table of pyarrow, whose columns have no names to ask for, as
    a frame; anything else as it is.
    """
    refuse_lazy("X", X)
    matrix: Any = X
    if hasattr(X, "to_pandas") and not hasattr(X, "dtypes"):
        return matrix.to_pandas()
    if not is_sparse(X):
        return _without_sparse_columns(matrix)
    rows, columns = matrix.shape if matrix.ndim == 2 else (*matrix.shape, 1)
    if rows * columns > MOST_DENSE:
        raise InvalidInput(
            f"X is a sparse matrix of {rows:,} rows and {columns:,} columns, too large for an array of "
            f"{rows * columns * 8 / 1e9:.3g} GB; choose fewer columns, such as with "
            "sklearn.decomposition.TruncatedSVD, or pass X.toarray() if your memory allows it."
        )
    return matrix.toarray(order="C")


def _without_sparse_columns(X: Any) -> Any:
    """A frame of pandas with its sparse columns written out; anything else as it is."""
    dtypes: Any = getattr(X, "dtypes", None)
    if not hasattr(dtypes, "items"):
        return X
    sparse = {name: dtype.subtype for name, dtype in dtypes.items() if hasattr(dtype, "fill_value")}
    return X.astype(sparse) if sparse else X


def refuse_extremes(name: str, values: Array, columns: Sequence[object] | None = None, least: float = SMALLEST) -> None:
    """Refuse numbers whose squares overflow, and columns that vary by less than ``least``, whose squares vanish; gaps
    (NaN) are passed over. Shapes: (row,) or (row, column).
    """
    if not values.size:
        return
    with np.errstate(invalid="ignore", over="ignore"):
        low, high = (np.asarray(extreme.reduce(values, axis=0), dtype=np.float64) for extreme in (np.fmin, np.fmax))
        spread = np.atleast_1d(high - low)
        size = np.atleast_1d(np.fmax(np.abs(low), np.abs(high)))

    def called(wrong: Any) -> str:
        first = int(np.flatnonzero(wrong)[0])
        label = repr(str(columns[first])) if columns is not None else str(first)
        return name if values.ndim == 1 else f"{name}, column {label},"

    huge, tiny = size > LARGEST, (spread > 0) & (spread < least)
    if huge.any():
        raise InvalidInput(
            f"{called(huge)} holds numbers beyond ±{LARGEST:g}, which cannot be squared; choose another unit, such as "
            "dividing by 1e100."
        )
    if tiny.any():
        raise InvalidInput(
            f"{called(tiny)} varies by {spread[tiny][0]:.3g} only, which is too little to compute with; choose another "
            "unit, so that it varies by about 1."
        )


def rounding_limit(values: Array) -> Array:
    """The spread up to which numbers of this size count as constant, a few units in the last digit: (…, row) -> (…)."""
    limit: Array = _ROUNDING * np.abs(values).max(axis=-1, initial=0.0)
    return np.maximum(limit, SMALLEST)

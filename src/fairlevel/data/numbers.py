"""Arrays of numbers as they are given: what is refused, and with which sentence."""

from __future__ import annotations

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

_ROUNDING = 8 * np.finfo(np.float64).eps


def is_sparse(values: Any) -> bool:
    """Whether these are a sparse matrix of SciPy, without importing it."""
    return hasattr(values, "toarray") and hasattr(values, "nnz")


def refuse_lazy(name: str, values: Any) -> None:
    """Refuse a LazyFrame of polars, which holds a plan instead of rows, a tensor whose gradients would be lost, and
    masked entries, whose values would be read.
    """
    if getattr(values, "requires_grad", False):
        raise InvalidType(f"{name} is a tensor that requires gradients, which end here; pass {name}.detach().")
    if hasattr(values, "collect") and hasattr(values, "collect_schema"):
        raise InvalidType(f"{name} is a {type(values).__name__}, which holds no rows yet; pass {name}.collect().")
    masked = int(np.ma.getmaskarray(values).sum()) if np.ma.isMaskedArray(values) else 0
    if masked:
        raise InvalidInput(
            f"{name} is a masked array with {masked} masked values; drop those rows, or fill them with {name}.filled()."
        )


def refuse_other_kinds(name: str, values: Any) -> None:
    """Refuse dates, spans of time and complex numbers, which NumPy would turn into numbers silently, sparse matrices,
    which it does not read, and what :func:`refuse_lazy` refuses.
    """
    refuse_lazy(name, values)
    if is_sparse(values):
        raise InvalidType(f"{name} is a sparse matrix; an array is needed: pass {name}.toarray().")
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


def refuse_lost_digits(name: str, values: Any, column: Any = None) -> None:
    """Refuse whole numbers that differ, but would be the same as floating-point numbers: those of an array, or of a
    ``column`` of sensitive attributes.
    """
    if not pd.api.types.is_integer_dtype(values.dtype) or not len(values):
        return
    if max(int(values.max()), -int(values.min())) > MOST_EXACT:
        numbers = np.ravel(values)
        if len(pd.unique(numbers)) > len(pd.unique(numbers.astype(np.float64))):
            where, advice = "", f"pass {name} - {name}.min()"
            if column is not None:
                where = f" in column {column!r}"
                advice = "if they are codes, convert the column with .astype('category')"
            raise InvalidInput(
                f"{name} holds whole numbers{where} that differ beyond 16 digits, which floating-point numbers do not "
                f"keep; {advice}."
            )


def refuse_extremes(name: str, values: Array, columns: Any = None, least: float = SMALLEST) -> None:
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


def refuse_missing(name: str, values: Array, columns: Any = None, gaps: bool = False) -> None:
    """Name and count missing and infinite values; where ``gaps`` are allowed, infinite ones only."""
    missing, infinite = int(np.isnan(values).sum()), int(np.isinf(values).sum())
    if (not missing or gaps) and not infinite:
        return
    where = ""
    if values.ndim == 2 and columns is not None:
        wrong = np.isinf(values) if gaps else ~np.isfinite(values)
        where = f", first in column {str(columns[int(np.flatnonzero(wrong.any(axis=0))[0])])!r}"
    raise InvalidInput(
        f"{name} holds {missing} missing (NaN) and {infinite} infinite (inf) values{where}; finite numbers are needed: "
        "drop those rows, or fill them with sklearn.impute.SimpleImputer."
    )


def one_per_row(name: str, values: Any, rows: int) -> Array:
    """Predictions of a model, ``name`` in words, as (row,) in float64, if there is one finite number per row."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape == (rows, 1):
        array = array[:, 0]
    if array.shape != (rows,) or not np.isfinite(array).all():
        raise InvalidInput(
            f"{name} predicts an array of shape {array.shape} for {rows} rows"
            + ("" if array.shape != (rows,) else ", with missing or infinite values")
            + "; one finite number per row is needed."
        )
    return array


def read_weights(sample_weight: Any, rows: int) -> Array | None:
    """One finite weight ≥ 0 per row, (row,), not all of them zero; None where all rows count for one."""
    if sample_weight is None:
        return None
    refuse_other_kinds("sample_weight", sample_weight)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidType(f"sample_weight holds values that are not numbers ({error}); one number per row.") from None
    if weight.ndim == 0:
        weight = np.full(rows, float(weight))
    if weight.ndim == 2 and weight.shape[1] == 1:
        weight = weight[:, 0]
    if weight.shape != (rows,):
        raise InvalidInput(f"sample_weight has shape {weight.shape}; one weight for each of the {rows} rows is needed.")
    bad, negative = int((~np.isfinite(weight)).sum()), int((weight < 0).sum())
    if bad or negative:
        raise InvalidInput(
            f"sample_weight holds {bad} missing or infinite and {negative} negative values; finite weights ≥ 0 are "
            "needed: use 0 for rows that should not count."
        )
    if weight.max(initial=0) > LARGEST:
        raise InvalidInput(f"sample_weight holds values beyond {LARGEST:g}; divide all weights by the largest.")
    positive = int((weight > 0).sum())
    if positive < 2:
        where = f"above zero on {positive} rows" if positive else "zero on all rows"
        raise InvalidInput(f"sample_weight is {where}; positive weights are needed on at least 2.")
    return None if (weight == 1).all() else weight

"""Predictions group by group."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.data.columns import MISSING, text_of
from fairlevel.data.numbers import LARGEST
from fairlevel.exceptions import InvalidInput
from fairlevel.metrics.profile import quantiles

MOST_GROUPS = 12
QUANTILES = 5


def group_table(groups: Any, prediction: Array, row_weight: Array, target: Array | None = None) -> pd.DataFrame:
    """Number of rows; mean, standard deviation, 10 % and 90 % quantiles of the prediction, all weighted; and the mean
    of y and the mean squared error where y is known, for each category of a column. Numbers of many values are cut into
    fifths.
    """
    labels = _labels(pd.Series(groups).reset_index(drop=True))
    frame = pd.DataFrame({"group": labels, "f": prediction, "w": row_weight})
    if target is not None:
        frame["y"] = target
    rows = []
    for name, part in frame.groupby("group", sort=True, observed=True):
        weight = part["w"].to_numpy() / part["w"].sum()
        predictions = part["f"].to_numpy()
        mean = float(weight @ predictions)
        _, low, *_, high, _ = quantiles(predictions[None], 11, None if np.ptp(weight) == 0 else weight)[0]
        row: dict[str, object] = {"group": str(name), "rows": len(part), "mean": mean}
        row |= {"sd": float(np.sqrt(weight @ (predictions - mean) ** 2)), "10 %": float(low), "90 %": float(high)}
        if target is not None:
            truth = part["y"].to_numpy()
            row |= {"mean of y": float(weight @ truth), "MSE": float(weight @ (predictions - truth) ** 2)}
        rows.append(row)
    return pd.DataFrame(rows)


def read_groups(by: Any) -> pd.Series:
    """The column that rows are grouped by: text, or numbers with gaps."""
    values = np.asarray(by, dtype=object)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InvalidInput(f"by has shape {values.shape}; one column is needed, such as table['region'].")
    column = pd.Series(values).infer_objects()
    if column.dtype.kind == "c":
        raise InvalidInput("by holds complex numbers; pass real numbers, or groups as text.")
    huge = int((column.abs() > LARGEST).sum()) if column.dtype.kind == "f" else 0
    if huge:
        raise InvalidInput(f"by holds {huge:,} numbers beyond ±{LARGEST:g}; pass smaller ones, or groups as text.")
    return column


def is_grouping(column: pd.Series) -> bool:
    """Whether a column has few enough categories for a table of its own."""
    first = column.iloc[:1000]  # most columns of numbers are known by their first rows
    return bool(first.nunique() <= MOST_GROUPS and column.nunique() <= MOST_GROUPS)


def _labels(column: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(column.dtype) and column.nunique() > MOST_GROUPS:
        return _fifths(column)
    known = column.notna()
    texts = column.astype(object).map(text_of).where(known, MISSING)
    values = dict(zip(texts[known], column[known], strict=True))  # one per text: 1, 1.0 and True are equal numbers
    names = [*sorted(values, key=lambda text: _place(values[text])), MISSING]
    return pd.Series(pd.Categorical(texts, categories=list(dict.fromkeys(names)), ordered=True))


def _place(value: Any) -> tuple[bool, Any]:
    """Numbers in their order, then text in the alphabet's."""
    is_number = isinstance(value, int | float | np.number)
    return not is_number, value if is_number else str(value)


def _fifths(column: pd.Series) -> pd.Series:
    """Ranges between quantiles, as text in order; a value where two meet belongs to the lower one."""
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    ends = np.unique(np.nanquantile(values, np.linspace(0, 1, QUANTILES + 1)))
    names = [f"{low} to {high}" for low, high in pairwise(_apart(ends))]
    number = np.where(np.isnan(values), len(names), np.searchsorted(ends[1:-1], values))
    names.append(MISSING)
    return pd.Series(pd.Categorical(np.array(names)[number], categories=names, ordered=True))


def _apart(numbers: Array) -> list[str]:
    """Different numbers as text, with as few digits as tell them apart, three at least."""
    texts: list[str] = []
    for digits in range(3, 18):
        texts = [f"{number:.{digits}g}" for number in numbers]
        if len(set(texts)) == len(texts):
            break
    return texts

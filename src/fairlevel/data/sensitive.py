"""Turn the sensitive attributes that a user gives into a matrix of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.data.columns import MISSING, Dates, Numbers, indicators, kind_of, text_of
from fairlevel.data.features import as_cells, refuse_doubles
from fairlevel.data.numbers import LARGEST, refuse_extremes, refuse_lost_digits, refuse_other_kinds
from fairlevel.exceptions import InvalidInput, InvalidType, MissingSensitiveFeatures

FEW_CATEGORIES = 12  # which any rows can carry
ROWS_PER_CATEGORY = 5  # of one column; with fewer, group averages are shrunk, and an upper limit would be too low
ROWS_PER_CATEGORY_OF_SEVERAL = 8  # of several columns together
MOST_CATEGORIES = 500
MOST_CATEGORIES_OF_FACTORS = 1000  # of all columns together


@dataclass(frozen=True)
class GivenColumn:
    """A column as the user gave it: its name, where it is in the matrix, and its categories where it has any, one per
    column of the matrix.
    """

    name: str
    places: tuple[int, ...]
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sensitive:
    """Attributes as one matrix: numeric columns unchanged, others as one column of zeros and ones per category.

    Shapes: values (row, attribute); names has one entry per column of values. ``columns`` are those that were given;
    none stands for numbers, one per column of values.
    """

    values: Array
    names: tuple[str, ...]
    columns: tuple[GivenColumn, ...] = ()

    def __post_init__(self) -> None:
        if not self.columns:
            columns = tuple(GivenColumn(name, (place,)) for place, name in enumerate(self.names))
            object.__setattr__(self, "columns", columns)

    def __len__(self) -> int:
        return len(self.values)


def encode_sensitive(
    sensitive_features: Any,
    rows: int | None = None,
    argument: str = "sensitive_features",
) -> Sensitive:
    """Read NumPy, pandas or polars data of one or two dimensions; text, categorical and boolean columns become
    indicators, of missing categories too; dates become days since 1970. Text that is mostly numbers, and categories
    that have too few rows each to measure anything, are refused. Errors call the table ``argument``.
    """
    frame = as_frame(sensitive_features, argument).infer_objects()
    if frame.shape[1] == 0 or frame.shape[0] == 0:
        raise InvalidInput(
            f"{argument} has shape {frame.shape}; at least one row and one column are needed, such as "
            f"{argument}=df[['age']]."
        )
    if rows is not None and len(frame) != rows:
        raise InvalidInput(
            f"{argument} has {len(frame)} rows but X and y have {rows}; pass the same rows in the same order."
        )
    missing = frame.isna().sum()
    if missing.sum():
        where = ", ".join(f"{name} ({count})" for name, count in missing[missing > 0].items())
        raise InvalidInput(
            f"{argument} holds {int(missing.sum())} missing values: {where}. "
            "Drop those rows, or fill the gaps and add a column that marks them."
        )
    for name, column in frame.items():
        refuse_lost_digits(argument, column, name)
    levels_of = {name: sorted(pd.unique(frame[name]), key=str) for name in frame if not is_number(frame[name].dtype)}
    _refuse_many_categories({str(name): len(levels) for name, levels in levels_of.items()}, len(frame), argument)
    names: list[str] = []
    given: list[GivenColumn] = []
    for name in frame:
        added = [f"{name}={category}" for category in levels_of.get(name, ())] or [str(name)]
        places = range(len(names), len(names) + len(added))
        given.append(GivenColumn(str(name), tuple(places), tuple(map(str, levels_of.get(name, ())))))
        names += added
    if levels_of:
        parts = [
            indicators(column, levels_of[name]) if name in levels_of else column.to_numpy(dtype=np.float64)[:, None]
            for name, column in frame.items()
        ]
        values: Array = np.hstack(parts)
    else:
        values = frame.to_numpy(dtype=np.float64)
    if max(float(values.max()), -float(values.min())) > LARGEST:
        raise InvalidInput(
            f"{argument} holds {int((np.abs(values) > LARGEST).sum())} infinite or huge values; finite numbers are "
            "needed: replace these values or drop their rows."
        )
    refuse_extremes(argument, values, names)
    return Sensitive(values, tuple(names), tuple(given))


def _refuse_many_categories(counts: Mapping[str, int], rows: int, argument: str) -> None:
    """Averages of categories with few rows each are no evidence: no upper limit could be given. And each category is a
    function, whose time grows with the cube of their number. ``counts`` of categories by column.
    """
    for name, count in counts.items():
        if count > FEW_CATEGORIES and rows < ROWS_PER_CATEGORY * count:
            raise InvalidInput(
                f"Column {name!r} of {argument} has {count} categories on {rows} rows; at least {ROWS_PER_CATEGORY} "
                "rows per category are needed to compare them: merge categories, or, if they are amounts, pass numbers "
                "instead of text."
            )
        if count > MOST_CATEGORIES and argument == "sensitive_features":
            raise InvalidInput(
                f"Column {name!r} of sensitive_features has {count} categories; at most {MOST_CATEGORIES} are "
                "possible: merge categories."
            )
    total = sum(counts.values())
    if argument != "sensitive_features":
        if total > MOST_CATEGORIES_OF_FACTORS:
            raise InvalidInput(
                f"{argument} has {total} categories; at most {MOST_CATEGORIES_OF_FACTORS} are possible: merge "
                "categories, or leave a column out."
            )
    elif len(counts) > 1 and total > 2 * FEW_CATEGORIES and rows < ROWS_PER_CATEGORY_OF_SEVERAL * total:
        raise InvalidInput(
            f"Columns {', '.join(map(repr, counts))} of sensitive_features have {total} categories on {rows} rows; at "
            f"least {ROWS_PER_CATEGORY_OF_SEVERAL} rows per category are needed: merge categories, or leave a column "
            "out."
        )


def is_number(dtype: Any) -> bool:
    """Whether a column holds numbers; True and False are categories."""
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


def refuse_too_many_attributes(attributes: int, rows: int) -> None:
    """With as many columns as rows, the attributes explain any prediction, and a disparity means nothing."""
    if attributes >= rows:
        raise InvalidInput(
            f"sensitive_features has {attributes} columns (one per category included) for {rows} training rows; fewer "
            "columns than rows are needed: drop some, merge rare categories, or use principal components."
        )


def is_one_profile(values: Array) -> bool:
    """Whether no attribute differs between rows: E[f | A] is then the mean of f, and DPVar 0. (row, attribute)."""
    return bool((np.ptp(values, axis=0) == 0).all())


def refuse_one_profile(values: Array) -> None:
    """Attributes that never differ ask nothing; (row, attribute) of the rows that count."""
    if is_one_profile(values):
        raise InvalidInput(
            "sensitive_features holds a single value per column; predictions can only be compared where an attribute "
            "differs between rows: pass attributes that vary, and rows of more than one kind."
        )


def as_frame(sensitive_features: Any, argument: str = "sensitive_features") -> pd.DataFrame:
    """NumPy, pandas or polars data of one or two dimensions as a DataFrame of numbers and categories: dates, also as
    text, become days since 1970, and missing categories a category of their own.
    """
    frame = _as_given(sensitive_features, argument)
    refuse_doubles(frame, argument)
    if all(map(is_number, frame.dtypes)):
        return frame
    return pd.DataFrame({name: _typed(column) for name, column in frame.items()})


def _typed(column: pd.Series) -> pd.Series:
    if is_number(column.dtype):
        return column
    kind = kind_of(str(column.name), column)
    if isinstance(kind, Numbers | Dates):
        return pd.Series(kind.read(column), index=column.index, name=column.name)
    if not column.isna().any():
        return column
    texts = [value if isinstance(value, str) else text_of(value) for value in column]
    return pd.Series(texts, index=column.index, dtype=object).where(column.notna(), MISSING)


def _as_given(sensitive_features: Any, argument: str) -> pd.DataFrame:
    if sensitive_features is None:
        raise MissingSensitiveFeatures(
            "sensitive_features is None; the attributes are needed, such as sensitive_features=df[['age', 'income']]."
        )
    table = sensitive_features
    if hasattr(table, "to_pandas"):  # polars and pyarrow
        table = table.to_pandas()
    if isinstance(table, pd.DataFrame | pd.Series):
        return pd.DataFrame(table)
    refuse_other_kinds(argument, table)
    array = as_cells(table)
    records = isinstance(table, list | tuple) and array.size and isinstance(array.flat[0], Mapping)
    if isinstance(table, Mapping) or array.dtype.names or records:
        raise InvalidType(
            f"{argument} is of type {type(table).__name__} with names of columns; a table is needed: pass "
            f"pandas.DataFrame({argument})."
        )
    if array.ndim not in (1, 2):
        raise InvalidInput(
            f"{argument} has {array.ndim} dimensions; a column or a table is needed, such as an array of "
            "shape (rows, attributes)."
        )
    columns = array if array.ndim == 2 else array[:, None]
    return pd.DataFrame(columns, columns=[f"a{number}" for number in range(columns.shape[1])], copy=False)

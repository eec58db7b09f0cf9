"""Tables as they are given, of any library, as frames of pandas; which columns and rows are refused."""

from __future__ import annotations

from decimal import Decimal
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.data.numbers import Number, is_sparse, refuse_lazy, refuse_other_kinds
from fairlevel.exceptions import InvalidInput, InvalidType

MOST_DENSE = 200_000_000  # numbers that a sparse matrix may have as an array: 1.6 GB


def as_dense(X: Any) -> Any:
    """A sparse matrix as an array, where that fits; a frame of pandas with its sparse columns written out, also from a
    table of pyarrow, whose columns have no names to ask for; anything else as it is, such as a frame of polars.
    """
    refuse_lazy("X", X)
    if is_sparse(X):
        rows, columns = X.shape if X.ndim == 2 else (*X.shape, 1)
        if rows * columns > MOST_DENSE:
            raise InvalidInput(
                f"X is a sparse matrix of {rows:,} rows and {columns:,} columns, too large for an array of "
                f"{rows * columns * 8 / 1e9:.3g} GB; choose fewer columns, such as with "
                "sklearn.decomposition.TruncatedSVD, or pass X.toarray() if your memory allows it."
            )
        return X.toarray(order="C")
    if hasattr(X, "to_pandas") and not hasattr(X, "dtypes"):
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame):
        return X
    sparse = {name: dtype.subtype for name, dtype in X.dtypes.items() if isinstance(dtype, pd.SparseDtype)}
    return X.astype(sparse) if sparse else X


def as_table(X: Any) -> Any:
    """A frame of any library as one of pandas, in which numbers of Python's type Decimal, as databases and Parquet
    files hold them, are float64; a sparse matrix as an array; other arrays and lists as they are.
    """
    table = as_dense(X)
    if not hasattr(table, "columns"):
        return table
    frame = table if isinstance(table, pd.DataFrame) else table.to_pandas()
    for number, dtype in enumerate(frame.dtypes):
        if "object" in str(dtype) or "decimal" in str(dtype):
            values = without_decimals(frame.iloc[:, number].to_numpy(dtype=object))
            if values.dtype != object:
                frame = frame.copy(deep=False)
                frame.isetitem(number, values)
    return frame


def without_decimals(values: Any) -> Any:
    """An array of objects that are numbers, some of them of type Decimal, as float64, missing ones as NaN; any other
    array as it is.
    """
    if values.dtype != object:
        return values
    missing = pd.isna(values)
    kinds = set(map(type, values[~missing]))
    if Decimal in kinds and all(issubclass(kind, Number) for kind in kinds):
        return np.where(missing, np.nan, values).astype(np.float64)
    return values


def as_cells(values: Any) -> Any:
    """An array of the cells as they are: NumPy would write the numbers of a list of rows as text beside text."""
    array = np.asarray(values)
    return np.asarray(values, dtype=object) if array.dtype.kind == "U" and array is not values else array


def named_columns(X: Any) -> pd.DataFrame:
    """A table with names; columns of an array are x0, x1, …"""
    table = as_table(X)
    if isinstance(table, pd.DataFrame):
        return table.rename(columns=str)
    array = as_cells(table)
    if array.ndim != 2:
        raise InvalidInput(
            f"Expected 2D array, got {array.ndim}D array instead: a table of shape (rows, columns) is needed. Reshape "
            "your data, such as with X.reshape(-1, 1)."
        )
    return pd.DataFrame(array, columns=[f"x{number}" for number in range(array.shape[1])])


def refuse_text(X: Any) -> None:
    """Name the text columns of a frame of pandas before anything tries to read them as numbers."""
    if isinstance(X, pd.DataFrame):
        refuse_doubles(X, "X")
        text = [str(name) for name, dtype in X.dtypes.items() if not pd.api.types.is_numeric_dtype(dtype)]
        if text:
            raise InvalidType(
                f"X has columns that are not numbers: {', '.join(map(repr, text[:5]))}; encode them with "
                "fairlevel.TableEncoder, as the first step of a Pipeline or as FairnessPath(encoder=TableEncoder())."
            )
        return
    refuse_other_kinds("X", X)
    array = np.asarray(X) if isinstance(X, list | tuple) else X
    kind = getattr(getattr(array, "dtype", None), "kind", "-")
    if kind in "UST" or (kind == "O" and any(isinstance(cell, str) for cell in np.ravel(array))):
        raise InvalidType(
            "X holds text; numbers are needed: encode it with sklearn.preprocessing.OneHotEncoder or OrdinalEncoder."
        )


def refuse_doubles(frame: pd.DataFrame, argument: str) -> None:
    """Columns of the same name cannot be told apart."""
    twice = frame.columns[frame.columns.duplicated()].unique().tolist()
    if twice:
        raise InvalidInput(
            f"{argument} has several columns named {', '.join(map(repr, twice[:5]))}; give each column a name of its "
            "own."
        )


def ordered_like_fit(X: Any, names: Any) -> Any:
    """A frame with the columns of fit in the order of fit; missing and further columns are errors."""
    if names is None or not hasattr(X, "columns"):
        return X
    missing = [name for name in names if name not in set(X.columns)]
    if missing:
        raise InvalidInput(
            f"X lacks {len(missing)} of the {len(names)} columns seen in fit: {', '.join(map(repr, missing[:5]))}; "
            "pass a frame that has them (their order does not matter)."
        )
    more = [name for name in X.columns if name not in set(names)]
    if more:
        raise InvalidInput(
            f"X has {len(more)} columns that fit did not see: {', '.join(map(repr, more[:5]))}; pass "
            "X[model.feature_names_in_], where model is the fitted one."
        )
    return X[list(names)]


def refuse_shuffled(**arguments: Any) -> None:
    """Rows of several arguments are matched by position. Other row labels, or the same ones in another order, are most
    likely a mistake: rows of another split. Arguments by name, each of one entry per row; those without labels pass.
    """
    labels = {name: getattr(given, "index", None) for name, given in arguments.items()}
    labelled = [(name, index) for name, index in labels.items() if isinstance(index, pd.Index)]
    for (first, ours), (name, theirs) in combinations(labelled, 2):
        if len(ours) != len(theirs) or ours.equals(theirs):
            continue
        if ours.is_unique and theirs.is_unique and ours.isin(theirs).all():
            raise InvalidInput(
                f"{name} has the same row labels as {first}, but in another order, and rows are matched by position: "
                f"pass {name}.loc[{first}.index], or call .reset_index(drop=True) on both."
            )
        if _is_new(first, ours) or _is_new(name, theirs):
            continue
        row = next(row for row, (our, their) in enumerate(zip(ours, theirs, strict=True)) if our != their)
        raise InvalidInput(
            f"{name} and {first} have different row labels ({theirs[row]!r} and {ours[row]!r} in row {row + 1}), as "
            f"rows of another split have: pass the same rows. If they are the same, call .reset_index(drop=True) on "
            "both."
        )


def _is_new(name: str, labels: pd.Index) -> bool:
    """Whether rows were counted from 0 when an argument was made, as in pd.Series(model.predict(X)), so that labels say
    nothing. Features and attributes are parts of a table, which may begin with its row 0.
    """
    is_table = name in ("X", "sensitive_features", "given")
    return not is_table and isinstance(labels, pd.RangeIndex) and labels.start == 0 and labels.step == 1

"""Features as they are given: what is refused, and with which sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.data.numbers import refuse_other_kinds
from fairlevel.exceptions import InvalidInput, InvalidType


def refuse_text(X: Any) -> None:
    """Name the text columns of a frame before anything tries to read them as numbers."""
    if not is_frame(X):
        refuse_other_kinds("X", X)
        array = np.asarray(X) if isinstance(X, list | tuple) else X
        if _holds_text(array):
            raise InvalidType(
                "X holds text; numbers are needed: encode it with sklearn.preprocessing.OneHotEncoder or "
                "OrdinalEncoder."
            )
        return
    frame = as_pandas(X)
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()].unique().tolist()
        raise InvalidInput(
            f"X has several columns named {', '.join(map(repr, twice[:5]))}; give each column a name of its own."
        )
    text = [str(name) for name, dtype in frame.dtypes.items() if not pd.api.types.is_numeric_dtype(dtype)]
    if text:
        raise InvalidType(
            f"X has columns that are not numbers: {', '.join(map(repr, text[:5]))}; encode them with "
            "fairlevel.TableEncoder, as the first step of a Pipeline or as FairnessPath(encoder=TableEncoder())."
        )


def _holds_text(array: Any) -> bool:
    kind = getattr(getattr(array, "dtype", None), "kind", "")
    return kind in ("U", "S", "T") or (kind == "O" and any(isinstance(value, str) for value in np.ravel(array)))


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


def is_frame(X: Any) -> bool:
    """Whether X is a frame of any library: its columns have names and types."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def as_pandas(X: Any) -> pd.DataFrame:
    """A frame of pandas from one of any library."""
    return X if isinstance(X, pd.DataFrame) else X.to_pandas()


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

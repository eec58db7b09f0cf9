"""Reading X and y for an estimator: what is refused, and with which sentence."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from fairlevel.arrays import Array
from fairlevel.data.encoder import Encoding, TableEncoder
from fairlevel.data.features import (
    as_dense,
    as_pandas,
    decimals_as_floats,
    is_frame,
    named_columns,
    ordered_like_fit,
    refuse_text,
    without_decimals,
)
from fairlevel.data.native_columns import NativeColumns
from fairlevel.data.numbers import (
    SMALLEST_FEATURE,
    refuse_extremes,
    refuse_lost_digits,
    refuse_missing,
    refuse_other_kinds,
)
from fairlevel.exceptions import EmptyColumns, FairLevelError, InvalidInput, InvalidType
from fairlevel.forks import use_one_thread_after_fork

FEW_ROWS = 10  # in which a column may well be empty
SHOWN = 5  # names in a message


@dataclass(frozen=True)
class FeatureRows:
    """Features and target of a fit as numbers.

    Shapes: x (row, column), y (row,). ``columns`` say how a frame with categories was read. With an ``encoding`` each
    fit encodes x by its own rows. ``seen``, (row, feature), is what predictors see of all rows, ``names`` what that is
    called, or None.
    """

    x: Array
    y: Array
    seen: Array
    names: Any
    columns: NativeColumns | None = None
    encoding: Encoding | None = None

    @property
    def categorical(self) -> tuple[int, ...]:
        """Numbers of the columns of x that hold categories."""
        return () if self.columns is None else self.columns.categorical


def read_rows(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    native: bool = False,
    encoder: TableEncoder | None = None,
) -> FeatureRows:
    """Validate X and y as scikit-learn does, with errors that say what to do; sets the estimator's feature names.

    For a ``native`` predictor X may be a frame with categories, and may have gaps. With an ``encoder`` it may be any
    table.
    """
    use_one_thread_after_fork()
    if encoder is not None:
        return _encoded_rows(estimator, as_dense(_table_for(encoder, X)), y, encoder)
    X = decimals_as_floats(as_dense(X))
    if is_frame(X) and X.shape[1] == 0:
        raise InvalidInput("X has no columns; at least one feature is needed.")
    if native and _has_categories(X):
        return _native_rows(estimator, X, y)
    return _plain_rows(estimator, X, y, gaps=native)


def _plain_rows(estimator: BaseEstimator, X: Any, y: Any, gaps: bool) -> FeatureRows:
    """Numbers; text is refused."""
    refuse_text(X)
    x, target = _numbers(estimator, X, y)
    names = getattr(estimator, "feature_names_in_", None)
    _refuse_unreadable(x, names, gaps)
    return FeatureRows(x, target, x, names)


def _native_rows(estimator: BaseEstimator, X: Any, y: Any) -> FeatureRows:
    """A frame with categories as whole numbers and gaps as NaN."""
    columns = NativeColumns.fit(as_pandas(X))
    x, target = _frame_numbers(estimator, X, y, columns)
    return FeatureRows(x, target, x, getattr(estimator, "feature_names_in_", None), columns)


def _encoded_rows(estimator: BaseEstimator, X: Any, y: Any, encoder: TableEncoder) -> FeatureRows:
    """Read like a native frame; what predictors see are the encoder's numbers, here those learnt from all rows."""
    columns = NativeColumns.fit(as_pandas(X))
    x, target = _frame_numbers(estimator, X, y, columns)
    encoding = Encoding(encoder, columns, tuple(map(str, as_pandas(X).columns)))
    learnt = encoding.fit(x)
    return FeatureRows(x, target, learnt.transform(x), learnt.encoder.outputs, encoding=encoding)


def _frame_numbers(estimator: BaseEstimator, X: Any, y: Any, columns: NativeColumns) -> tuple[Array, Array]:
    """x (row, column) as the columns say, and y (row,)."""
    validated(estimator, X, skip_check_array=True)
    names = getattr(estimator, "feature_names_in_", None)
    x, target = _numbers(estimator, columns.transform(as_pandas(X)), y)
    if names is not None:
        estimator.feature_names_in_ = names  # the numbers have none
    _refuse_unreadable(x, names, gaps=True)
    return x, target


def _numbers(estimator: BaseEstimator, features: Any, y: Any) -> tuple[Array, Array]:
    """x (row, column) and y (row,)."""
    refuse_missing_target(y)
    x, target = validated(
        estimator, features, y, dtype=np.float64, y_numeric=True, ensure_all_finite=False, ensure_min_samples=2
    )
    return x, np.asarray(target, dtype=np.float64)


def _refuse_unreadable(x: Array, names: Any, gaps: bool) -> None:
    refuse_missing("X", x, names, gaps=gaps)
    refuse_extremes("X", x, names, SMALLEST_FEATURE)


def read_features(estimator: BaseEstimator, X: Any, native: bool = False) -> Array:
    """Rows to predict for, with the columns of fit in the order of fit, (row, feature). A model with an encoder takes
    any table that has the columns it needs.
    """
    use_one_thread_after_fork()
    encoder: TableEncoder | None = getattr(estimator, "encoder_", None)
    if encoder is not None:
        encoded: Array = np.asarray(encoder.transform(X))
        return encoded
    names = getattr(estimator, "feature_names_in_", None)
    X = ordered_like_fit(decimals_as_floats(as_dense(X)), names)
    columns: NativeColumns | None = getattr(estimator, "native_columns_", None)
    if columns is not None:
        if not hasattr(X, "columns"):
            raise InvalidType("fit got a frame with categories; pass a frame with the same columns, not an array.")
        validated(estimator, X, reset=False, skip_check_array=True)
        x = columns.transform(as_pandas(X))
        _warn_of_empty_columns(as_pandas(X).isna().to_numpy(), names)
    else:
        refuse_text(X)
        x = validated(estimator, X, reset=False, dtype=np.float64, ensure_all_finite=False)
        _warn_of_empty_columns(np.isnan(x), names)
    refuse_missing("X", x, names, gaps=native)
    refuse_extremes("X", x, names, 0.0)
    return x


def _warn_of_empty_columns(missing: Any, names: Any) -> None:
    """Models that read gaps predict for any row, but not well where a column has been lost on the way. Which cells are
    missing: (row, column).
    """
    empty = np.flatnonzero(missing.all(axis=0))
    if len(empty) and len(missing) >= FEW_ROWS:
        listed = ", ".join(repr(str(names[column])) if names is not None else str(column) for column in empty[:SHOWN])
        more = f" and {len(empty) - SHOWN} more" if len(empty) > SHOWN else ""
        warnings.warn(
            f"Columns without a single value in {len(missing)} rows: {listed}{more}.", EmptyColumns, stacklevel=4
        )


def refuse_missing_target(y: Any) -> None:
    """Text, several columns, missing and infinite targets; whatever else is wrong with y is left for the usual
    checks.
    """
    refuse_other_kinds("y", y)
    given = without_decimals(np.asarray(y))
    if given.ndim == 2 and given.shape[1] > 1:
        raise InvalidInput(
            f"y has {given.shape[1]} columns, but a 1d array is needed: fit one model for each column of y."
        )
    if given.ndim == 0 or given.dtype.kind not in "fiuOUST":
        return
    try:
        target = given.astype(np.float64)
    except (TypeError, ValueError):
        if any(isinstance(value, str) for value in given.ravel()[:1000].tolist()):
            raise InvalidType("y holds text; numbers are needed. For classes, use FairClassifier.") from None
        return
    refuse_lost_digits("y", given)
    refuse_missing("y", target)
    refuse_extremes("y", target)


def validated(estimator: BaseEstimator, *arrays: Any, **settings: Any) -> Any:
    """scikit-learn's ``validate_data``; what it refuses becomes an error of this package, in its words."""
    try:
        return validate_data(estimator, *arrays, **settings)
    except FairLevelError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        kind = InvalidType if isinstance(error, TypeError) else InvalidInput
        raise kind(" ".join(str(error).split())) from None


def _table_for(encoder: Any, X: Any) -> pd.DataFrame:
    """A table with names of its columns; an array has the names x0, x1, …"""
    if not isinstance(encoder, TableEncoder):
        raise InvalidType(f"encoder={encoder!r} was given; TableEncoder() or None is needed.")
    return named_columns(X)


def _has_categories(X: Any) -> bool:
    """Whether X is a frame with a column that is no number: text, categories or dates."""
    if not is_frame(X):
        return False
    frame = as_pandas(X)
    return frame.columns.is_unique and not all(map(pd.api.types.is_numeric_dtype, frame.dtypes))

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
from fairlevel.data.features import as_table, named_columns, ordered_like_fit, refuse_text, without_decimals
from fairlevel.data.native_columns import NativeColumns
from fairlevel.data.numbers import (
    SMALLEST_FEATURE,
    refuse_extremes,
    refuse_lost_digits,
    refuse_missing,
    refuse_other_kinds,
)
from fairlevel.exceptions import EmptyColumns, FairLevelError, InvalidInput, InvalidType

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
    if encoder is not None and not isinstance(encoder, TableEncoder):
        raise InvalidType(f"encoder={encoder!r} was given; TableEncoder() or None is needed.")
    X = as_table(X) if encoder is None else named_columns(X)
    if isinstance(X, pd.DataFrame) and X.shape[1] == 0:
        raise InvalidInput("X has no columns; at least one feature is needed.")
    columns = None
    if encoder is not None or (native and _has_categories(X)):
        columns = NativeColumns.fit(X)
        validated(estimator, X, skip_check_array=True)
        names = getattr(estimator, "feature_names_in_", None)
        x, target = _numbers(estimator, columns.transform(X), y)
        if names is not None:
            estimator.feature_names_in_ = names  # the numbers have none
    else:
        refuse_text(X)
        x, target = _numbers(estimator, X, y)
        names = getattr(estimator, "feature_names_in_", None)
    refuse_missing("X", x, names, gaps=native or columns is not None)
    refuse_extremes("X", x, names, SMALLEST_FEATURE)
    if encoder is None or columns is None:
        return FeatureRows(x, target, x, names, columns)
    encoding = Encoding(encoder, columns, tuple(map(str, X.columns)))
    learnt = encoding.fit(x)  # from all rows
    return FeatureRows(x, target, learnt.transform(x), learnt.encoder.outputs, encoding=encoding)


def _has_categories(X: Any) -> bool:
    """Whether X is a frame with a column that is no number: text, categories or dates."""
    if not isinstance(X, pd.DataFrame):
        return False
    return X.columns.is_unique and not all(map(pd.api.types.is_numeric_dtype, X.dtypes))


def _numbers(estimator: BaseEstimator, features: Any, y: Any) -> tuple[Array, Array]:
    """x (row, column) and y (row,)."""
    _refuse_target(y)
    x, target = validated(
        estimator, features, y, dtype=np.float64, y_numeric=True, ensure_all_finite=False, ensure_min_samples=2
    )
    return x, np.asarray(target, dtype=np.float64)


def _refuse_target(y: Any) -> None:
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


def read_features(estimator: BaseEstimator, X: Any, native: bool = False) -> Array:
    """Rows to predict for, with the columns of fit in the order of fit, (row, feature). A model with an encoder takes
    any table that has the columns it needs.
    """
    encoder: TableEncoder | None = getattr(estimator, "encoder_", None)
    if encoder is not None:
        encoded: Array = np.asarray(encoder.transform(X))
        return encoded
    names = getattr(estimator, "feature_names_in_", None)
    X = ordered_like_fit(as_table(X), names)
    columns: NativeColumns | None = getattr(estimator, "native_columns_", None)
    if columns is not None:
        if not hasattr(X, "columns"):
            raise InvalidType("fit got a frame with categories; pass a frame with the same columns, not an array.")
        validated(estimator, X, reset=False, skip_check_array=True)
        x = columns.transform(X)
        missing = X.isna().to_numpy()
    else:
        refuse_text(X)
        x = validated(estimator, X, reset=False, dtype=np.float64, ensure_all_finite=False)
        missing = np.isnan(x)
    empty = np.flatnonzero(missing.all(axis=0))
    if len(empty) and len(x) >= FEW_ROWS:  # models that read gaps predict, but not well where a column has been lost
        listed = ", ".join(repr(str(names[column])) if names is not None else str(column) for column in empty[:SHOWN])
        more = f" and {len(empty) - SHOWN} more" if len(empty) > SHOWN else ""
        warnings.warn(f"Columns without a single value in {len(x)} rows: {listed}{more}.", EmptyColumns, stacklevel=3)
    refuse_missing("X", x, names, gaps=native)
    refuse_extremes("X", x, names, 0.0)
    return x


def validated(estimator: BaseEstimator, *arrays: Any, **settings: Any) -> Any:
    """scikit-learn's ``validate_data``; what it refuses becomes an error of this package, in its words."""
    try:
        return validate_data(estimator, *arrays, **settings)
    except FairLevelError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        kind = InvalidType if isinstance(error, TypeError) else InvalidInput
        raise kind(" ".join(str(error).split())) from None

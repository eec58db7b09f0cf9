"""Reading X, y and sensitive attributes for an estimator: what is refused, and with which sentence."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from fairlevel.arrays import Array
from fairlevel.data.encoder import TableEncoder
from fairlevel.data.encoding import Encoding
from fairlevel.data.features import as_pandas, ordered_like_fit, refuse_missing, refuse_text
from fairlevel.data.native_columns import NativeColumns
from fairlevel.data.numbers import SMALLEST_FEATURE, as_dense, refuse_extremes, refuse_other_kinds
from fairlevel.data.scaling import Scaler
from fairlevel.data.sensitive import Sensitive, encode_sensitive, refuse_shuffled, refuse_too_many_attributes
from fairlevel.data.splitting import Splitting
from fairlevel.data.table import Table
from fairlevel.data.table_rules import named_columns
from fairlevel.data.unknown import without_unknown
from fairlevel.data.weights import read_weights
from fairlevel.exceptions import FairLevelError, InvalidInput, InvalidType, MissingSensitiveFeatures, ProxyWarning
from fairlevel.networks.forks import use_one_thread_after_fork

NEARLY_A_COPY = 0.99


def refuse_missing_target(y: Any) -> None:
    """Text, several columns, missing and infinite targets; whatever else is wrong with y is left for the usual
    checks.
    """
    refuse_other_kinds("y", y)
    given = np.asarray(y)
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


def read_weight(weight: Any, has_sensitive: bool) -> float:
    """The penalty weight that ``weight`` stands for: "auto" is 1 with sensitive attributes and 0 without."""
    if isinstance(weight, str):
        if weight != "auto":
            raise InvalidInput(f"weight={weight!r} was given; a number ≥ 0 or 'auto' is needed, such as weight=1.0.")
        return 1.0 if has_sensitive else 0.0
    try:
        number = float(weight)
    except (TypeError, ValueError):
        raise InvalidType(
            f"weight={weight!r} was given; a number ≥ 0 or 'auto' is needed, such as weight=1.0."
        ) from None
    if not (np.isfinite(number) and number >= 0):
        raise InvalidInput(
            f"weight={number} was given; a finite number ≥ 0 is needed, such as weight=1.0 (0 is plain training)."
        )
    if number > 0 and not has_sensitive:
        raise MissingSensitiveFeatures(
            f"weight={number:g} asks for fairness, but fit got no sensitive_features. Pass fit(X, y, "
            "sensitive_features=A); "
            "inside a Pipeline or GridSearchCV also enable metadata routing and call "
            "set_fit_request(sensitive_features=True). "
            "For a fit without fairness, set weight=0."
        )
    return number


_ROWS_FOR_COPIES = 5_000


def copies_of_sensitive(x: Array, names: Any, sensitive: Sensitive, categorical: tuple[int, ...] = ()) -> list[str]:
    """Features that are (nearly) a sensitive attribute, as "feature ~ attribute". Gaps are filled by the mean; numbers
    of categories mean nothing and are left out.
    """
    thin = slice(None, None, -(-len(x) // _ROWS_FOR_COPIES))  # of very many rows some will do
    x, values = np.array(x[thin], dtype=np.float64), sensitive.values[thin]
    x[:, list(categorical)] = 0.0
    if np.isnan(x).any():
        known = ~np.isnan(x)
        means = np.where(known, x, 0.0).sum(axis=0) / known.sum(axis=0).clip(min=1)
        x = np.where(known, x, means)
    standard_x, standard_a = Scaler.fit(x).transform(x), Scaler.fit(values).transform(values)
    correlation = np.abs(standard_x.T @ standard_a) / len(x)
    return [
        f"{names[j] if names is not None else f'column {j}'} ~ {sensitive.names[k]}"
        for j, k in np.argwhere(correlation > NEARLY_A_COPY)
    ]


def warn_of_copies(x: Array, names: Any, sensitive: Sensitive, categorical: tuple[int, ...] = ()) -> None:
    """Warn when a feature is (nearly) a sensitive attribute: the model then sees what it should be level in."""
    pairs = copies_of_sensitive(x, names, sensitive, categorical)
    if pairs:
        warnings.warn(
            f"Features of X that are (nearly) copies of sensitive attributes: {', '.join(map(str, pairs[:5]))}. "
            "Drop them from X unless the model is meant to use them.",
            ProxyWarning,
            stacklevel=6,  # the caller of fit
        )


def read_table(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any = None,
    given: Any = None,
    splitting: Splitting | None = None,
    kinds: tuple[type, ...] = (np.float64,),
    native: bool = False,
    encoder: TableEncoder | None = None,
) -> Table:
    """Validate input as scikit-learn does, with errors that say what to do; sets the estimator's feature names.

    Numbers of these ``kinds`` in X and A are left as they are; others become 64-bit numbers. With ``native`` X may be a
    frame with categories, and may have gaps; the estimator's ``native_columns_`` then say how it was read. With an
    ``encoder`` it may be any table, which each fit encodes by its own rows. Rows whose weight is zero are left out.
    """
    use_one_thread_after_fork()
    if encoder is not None:
        X = _table_for(encoder, X)
    X = as_dense(X)
    columns = NativeColumns.fit(as_pandas(X)) if encoder is not None or (native and _has_categories(X)) else None
    if columns is None:
        refuse_text(X)
        features = X
    else:
        validated(estimator, X, skip_check_array=True)
        features = columns.transform(as_pandas(X))
    refuse_missing_target(y)
    names = getattr(estimator, "feature_names_in_", None) if columns is not None else None
    x, target = validated(
        estimator, features, y, dtype=list(kinds), y_numeric=True, ensure_all_finite=False, ensure_min_samples=2
    )
    if names is not None:
        estimator.feature_names_in_ = names
    estimator.native_columns_ = columns if encoder is None else None
    target = np.asarray(target, dtype=np.float64)
    names = getattr(estimator, "feature_names_in_", None)
    refuse_missing("X", x, names, gaps=native or encoder is not None)
    refuse_extremes("X", x, names, SMALLEST_FEATURE)
    categorical = () if columns is None or encoder is not None else columns.categorical
    encoding, seen = None, x
    if encoder is not None and columns is not None:
        encoding = Encoding(encoder, columns, tuple(map(str, as_pandas(X).columns)))
        learnt = encoding.fit(x)
        seen, names = learnt.transform(x), learnt.encoder.outputs
    weight, sensitive, factors, known = read_weights(sample_weight, len(x)), None, None, None
    if sensitive_features is not None:
        refuse_shuffled(X, sensitive_features)
        sensitive_features, known = without_unknown(sensitive_features, len(x))
        sensitive = encode_sensitive(sensitive_features, len(x), kinds)
        refuse_too_many_attributes(sensitive.values.shape[1], len(x))
        warn_of_copies(seen, names, sensitive, categorical)
        if given is not None:
            from fairlevel.metrics.inputs import read_factors  # predictions need no PyTorch

            factors = read_factors(given, sensitive, X)
    elif given is not None:
        raise MissingSensitiveFeatures(
            "given was passed without sensitive_features; it says within what A is compared."
        )
    table = Table(
        x,
        target,
        sensitive,
        categorical,
        weight,
        factors=factors,
        encoding=encoding,
        known=known,
        splitting=splitting,
    )
    return table if weight is None or (weight > 0).all() else table.rows(np.flatnonzero(weight))


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
    X = ordered_like_fit(as_dense(X), names)
    columns: NativeColumns | None = getattr(estimator, "native_columns_", None)
    if columns is not None:
        if not hasattr(X, "columns"):
            raise InvalidType("fit got a frame with categories; pass a frame with the same columns, not an array.")
        validated(estimator, X, reset=False, skip_check_array=True)
        x = columns.transform(as_pandas(X))
    else:
        refuse_text(X)
        x = validated(estimator, X, reset=False, dtype=np.float64, ensure_all_finite=False)
    refuse_missing("X", x, names, gaps=native)
    refuse_extremes("X", x, names, 0.0)
    return x


def _table_for(encoder: Any, X: Any) -> pd.DataFrame:
    """A table with names of its columns; an array has the names x0, x1, …"""
    if not isinstance(encoder, TableEncoder):
        raise InvalidType(f"encoder={encoder!r} was given; TableEncoder() or None is needed.")
    return named_columns(X)


def _has_categories(X: Any) -> bool:
    """Whether X is a frame with a column that is no number: text, categories or dates."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return False
    frame = as_pandas(X)
    return frame.columns.is_unique and not all(map(pd.api.types.is_numeric_dtype, frame.dtypes))

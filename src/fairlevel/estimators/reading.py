"""Reading weights and sensitive attributes for an estimator: what is refused, and with which sentence."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array, Flags
from fairlevel.data.numbers import read_weights
from fairlevel.data.scaling import Scaler
from fairlevel.data.sensitive import Sensitive, as_frame, encode_sensitive, refuse_too_many_attributes
from fairlevel.data.splitting import Splitting
from fairlevel.data.table import Table
from fairlevel.estimators.feature_rows import FeatureRows
from fairlevel.exceptions import (
    InvalidInput,
    InvalidType,
    MissingSensitiveFeatures,
    NoSensitiveFeatures,
    ProxyWarning,
    UnknownAttributes,
)

NEARLY_A_COPY = 0.99  # correlation
FEWEST_KNOWN = 20  # rows with sensitive attributes
_ROWS_FOR_COPIES = 5_000


def read_weight(weight: Any, has_sensitive: bool) -> float:
    """The penalty weight that ``weight`` stands for: "auto" is 1 with sensitive attributes and 0 without."""
    if isinstance(weight, str):
        if weight != "auto":
            raise InvalidInput(_NO_WEIGHT.format(weight))
        return 1.0 if has_sensitive else 0.0
    try:
        number = float(weight)
    except (TypeError, ValueError):
        raise InvalidType(_NO_WEIGHT.format(weight)) from None
    if not (np.isfinite(number) and number >= 0):
        raise InvalidInput(
            f"weight={number} was given; a finite number ≥ 0 is needed, such as weight=1.0 (0 is plain training)."
        )
    if number > 0 and not has_sensitive:
        raise MissingSensitiveFeatures(f"weight={number:g} asks for fairness, but {_HOW_TO_PASS}")
    return number


_NO_WEIGHT = "weight={!r} was given; a number ≥ 0 or 'auto' is needed, such as weight=1.0."
_HOW_TO_PASS = (
    "fit got no sensitive_features. Pass fit(X, y, sensitive_features=A); inside a Pipeline or GridSearchCV also "
    "enable metadata routing and call set_fit_request(sensitive_features=True). For a fit without fairness, set "
    "weight=0."
)


def warn_without_sensitive(stacklevel: int) -> None:
    """Say that a model is trained without fairness, where nobody asked for that: a request for metadata routing is
    easily forgotten. ``stacklevel`` counts from the caller of this function up to the caller of fit.
    """
    warnings.warn(
        f"A model without fairness is trained: {_HOW_TO_PASS}", NoSensitiveFeatures, stacklevel=stacklevel + 1
    )


def copies_of_sensitive(x: Array, names: Any, sensitive: Sensitive, categorical: tuple[int, ...] = ()) -> list[str]:
    """Features that are (nearly) a sensitive attribute, as "feature ~ attribute". Gaps are filled by the mean; numbers
    of categories mean nothing and are left out.
    """
    thin = slice(None, None, -(-len(x) // _ROWS_FOR_COPIES))  # where rows are many, every k-th
    x, values = np.array(x[thin], dtype=np.float64), sensitive.values[thin]
    x[:, list(categorical)] = 0.0
    frame = pd.DataFrame(x)
    x = frame.fillna(frame.mean()).fillna(0.0).to_numpy()
    standard_x, standard_a = Scaler.fit(x).transform(x), Scaler.fit(values).transform(values)
    correlation = np.abs(standard_x.T @ standard_a) / len(x)
    return [
        f"{names[j] if names is not None else f'column {j}'} ~ {sensitive.names[k]}"
        for j, k in np.argwhere(correlation > NEARLY_A_COPY)
    ]


def read_table(
    features: FeatureRows,
    sensitive_features: Any,
    sample_weight: Any = None,
    given: Any = None,
    splitting: Splitting | None = None,
) -> Table:
    """Features and target with the attributes, weights and factors of their rows. Rows whose weight is zero are left
    out.
    """
    rows = len(features.x)
    weight, sensitive, factors, known = read_weights(sample_weight, rows), None, None, None
    if sensitive_features is not None:
        sensitive_features, known = without_unknown(sensitive_features, rows)
        sensitive = encode_sensitive(sensitive_features, rows)
        refuse_too_many_attributes(sensitive.values.shape[1], rows)
        copies = copies_of_sensitive(features.seen, features.names, sensitive, features.categorical)
        if copies:
            warnings.warn(
                f"Features of X that are (nearly) copies of sensitive attributes: {', '.join(copies[:5])}. Drop them "
                "from X unless the model is meant to use them.",
                ProxyWarning,
                stacklevel=5,  # the caller of fit
            )
        if given is not None:
            from fairlevel.metrics.inputs import read_factors  # predictions need no PyTorch

            factors = read_factors(given, sensitive)
    elif given is not None:
        raise MissingSensitiveFeatures(
            "given was passed without sensitive_features; it says within what A is compared."
        )
    table = Table(
        features.x,
        features.y,
        sensitive,
        features.categorical,
        weight,
        factors=factors,
        encoding=features.encoding,
        known=known,
        splitting=splitting,
    )
    return table if weight is None or (weight > 0).all() else table.rows(np.flatnonzero(weight))


def without_unknown(sensitive_features: Any, rows: int) -> tuple[Any, Flags | None]:
    """The attributes with rows of known ones in place of rows that lack a number, and which rows are known; as they
    were given, and None, where no number is missing. A missing category is a category of its own elsewhere.
    """
    frame = as_frame(sensitive_features, "sensitive_features")
    numbers = frame.select_dtypes("number")
    missing = numbers.isna().any(axis=1).to_numpy()
    if not missing.any() or len(frame) != rows:
        return sensitive_features, None
    known = np.flatnonzero(~missing)
    if len(known) < min(FEWEST_KNOWN, rows):
        raise InvalidInput(
            f"sensitive_features has missing values (NaN) in {int(missing.sum())} of {rows} rows; at least "
            f"{min(FEWEST_KNOWN, rows)} rows without are needed."
        )
    warnings.warn(
        UnknownAttributes(
            f"Sensitive attributes are missing in {int(missing.sum())} of {rows} rows. These rows train accuracy only; "
            "disparity is that of the others."
        ),
        stacklevel=5,  # the caller of fit
    )
    source = np.arange(rows)
    source[missing] = np.resize(known, int(missing.sum()))  # of weight zero: any known attributes will do
    filled = frame.iloc[source].set_axis(frame.index, axis=0)
    return filled, ~missing

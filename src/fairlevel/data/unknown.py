"""Rows whose sensitive attributes are not known: they train accuracy, and nothing else."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from fairlevel.arrays import Flags
from fairlevel.data.sensitive import as_frame
from fairlevel.exceptions import InvalidInput, UnknownAttributes

FEWEST_KNOWN = 20  # rows


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

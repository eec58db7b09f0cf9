"""Reading row weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlevel.arrays import Array
from fairlevel.data.numbers import LARGEST, refuse_other_kinds
from fairlevel.exceptions import InvalidInput, InvalidType


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
    if not weight.any():
        raise InvalidInput("sample_weight is zero on all rows; positive weights are needed on at least 2.")
    if (weight > 0).sum() < 2:
        raise InvalidInput(f"sample_weight is above zero on {int((weight > 0).sum())} rows; at least 2 are needed.")
    return None if (weight == 1).all() else weight

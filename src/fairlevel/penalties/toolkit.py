"""What penalties share: checks of their numbers, weights, blocks of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlevel.arrays import AnyArray, Array, on_cpu
from fairlevel.exceptions import InvalidInput, InvalidType

SMALLEST_SD = 0.05
"""Predictions that spread less than this (in standard deviations of y) count as constant. Without a limit, a penalty
that does not depend on the scale of the predictions would have a larger gradient the closer they are to a constant."""

_ROWS = 512  # of which the activations of a step stay in a CPU's cache


def weights_of_part(row_weight: Array | None, part: slice, rows: int) -> Array:
    """Weights of some of the rows, scaled to sum to 1 over them, (row of the part,)."""
    weight = (np.ones(rows) if row_weight is None else np.asarray(row_weight, dtype=np.float64))[part]
    if not weight.sum() > 0:
        raise InvalidInput(
            "sample_weight is zero on all rows of a part of the training rows; positive weights are needed there."
        )
    normalised: Array = weight / weight.sum()
    return normalised


def row_blocks(rows: int, like: AnyArray) -> list[slice]:
    """Slices that cover all rows: small ones where the array is on a CPU; a GPU takes all rows at once."""
    size = _ROWS if on_cpu(like) else max(rows, 1)
    return [slice(start, min(start + size, rows)) for start in range(0, max(rows, 1), size)]


def check_positive(**numbers: float) -> None:
    """Refuse a number that is not above zero."""
    for name, value in numbers.items():
        if isinstance(value, str) or not 0 < value < float("inf"):
            raise InvalidInput(f"{name}={value} was given; a positive number is needed, such as 1.0.")


def check_mean(mean: Any, kind: str, example: str) -> None:
    """Refuse a conditional mean of the wrong kind when a penalty is made, not when it trains."""
    if isinstance(mean, type) or getattr(mean, "kind", None) != kind:
        raise InvalidType(f"mean={mean!r} was given; a {kind} conditional mean is needed, such as {example}.")

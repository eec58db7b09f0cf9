"""Select models by error and disparity on validation rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput, InvalidType
from fairlevel.fronts.points import finite, non_dominated

ZETAS: Array = np.concatenate([[0.0], np.logspace(-2, 3, 40)])
"""Weights ζ of DPVar against MSE in the selection: 0, then 0.01 to 1000."""


def select(points: pd.DataFrame, zetas: Sequence[float] | Array = ZETAS) -> pd.DataFrame:
    r"""The models with the smallest mse + ζ · dpvar for some ζ, each once, by ascending dpvar (ties: smaller dpvar).

    Only points on the lower convex hull can be selected.
    """
    weights = np.atleast_1d(np.asarray(zetas, dtype=np.float64))
    if weights.size == 0 or not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise InvalidInput(f"zetas={weights.tolist()} were given; finite numbers ≥ 0 are needed, such as [0, 0.1, 1].")
    usable = finite(points)
    order = usable.sort_values(["dpvar", "mse"], kind="stable")
    if order.empty:
        return order
    scores = order["mse"].to_numpy()[:, None] + weights * order["dpvar"].to_numpy()[:, None]
    return order.iloc[np.unique(scores.argmin(axis=0))]


def knee_index(front: pd.DataFrame) -> int:
    """The row number of the knee, the model with the smallest mse + dpvar after both were scaled to [0, 1]; the last
    row, the most accurate model, where the front has no bend.
    """
    points = non_dominated(front)
    if len(points) <= 2:
        return len(front) - 1
    scaled = points[["mse", "dpvar"]].to_numpy()
    scaled = (scaled - scaled.min(axis=0)) / np.ptp(scaled, axis=0)
    most_accurate_first = scaled.sum(axis=1)[::-1]  # both ends have 1: without a bend, the most accurate is taken
    return int(points.index[::-1][int(most_accurate_first.argmin())])


def check_row(number: Any, rows: int) -> None:
    """Refuse what is no number of a row of a front."""
    if not isinstance(number, int | np.integer) or isinstance(number, bool):
        raise InvalidType(
            f"model({number!r}) was asked for; the number of a row of the front is needed, such as model(0). The knee "
            "is knee(), the model within a budget best(max_share=0.05)."
        )
    if not -rows <= number < rows:
        raise InvalidInput(f"model({number}) was asked for; the front has rows 0 to {rows - 1}.")

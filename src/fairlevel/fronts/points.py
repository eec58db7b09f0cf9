"""Models as rows of a frame with columns mse and dpvar; lower is better in both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Flags
from fairlevel.exceptions import InvalidInput, InvalidType


def point_name(row: int) -> str:
    """The name of a row of a front, counted from 0, in files and on pages: point-01 is row 0."""
    return f"point-{row + 1:02d}"


def require_columns(frame: pd.DataFrame, needed: Sequence[str]) -> None:
    """Raise an error that names the missing columns, if there are any."""
    missing = [name for name in needed if name not in frame]
    if missing:
        raise InvalidInput(f"The frame lacks {' and '.join(missing)}; it has {list(frame.columns)}.")


def finite(points: pd.DataFrame) -> pd.DataFrame:
    """The rows whose mse and dpvar are finite; models that diverged are dropped."""
    require_columns(points, ("mse", "dpvar"))
    usable: Flags = np.isfinite(points[["mse", "dpvar"]].to_numpy(dtype=np.float64)).all(axis=1)
    return points[usable]


def non_dominated(points: pd.DataFrame) -> pd.DataFrame:
    """The rows that no other row dominates, by ascending dpvar.

    Row q dominates p if it is no worse in both columns and better in one; of equal rows the first is kept.
    """
    order = finite(points).sort_values(["dpvar", "mse"], kind="stable")
    best = order["mse"].cummin().shift(fill_value=np.inf)
    return order[order["mse"] < best]


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

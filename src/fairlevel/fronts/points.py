"""Models as rows of a frame with columns mse and dpvar, lower is better in both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from fairlevel.exceptions import InvalidInput


class Kept(NamedTuple):
    """Rows that are left, and how many were dropped because a figure was missing or infinite."""

    points: pd.DataFrame
    dropped: int


def require_columns(frame: pd.DataFrame, needed: Sequence[str]) -> None:
    """Refuse a frame that lacks a column, by name."""
    missing = [name for name in needed if name not in frame]
    if missing:
        raise InvalidInput(f"The frame lacks {' and '.join(missing)}; it has {list(frame.columns)}.")


def finite(points: pd.DataFrame) -> Kept:
    """Rows whose mse and dpvar are numbers: a diverged model is dropped and counted, never compared."""
    require_columns(points, ("mse", "dpvar"))
    usable = np.isfinite(points[["mse", "dpvar"]].to_numpy(dtype=np.float64)).all(axis=1)
    return Kept(points[usable], int((~usable).sum()))


def non_dominated(points: pd.DataFrame) -> Kept:
    """The rows that no other row beats, by ascending dpvar.

    Row q beats p when it is no worse in both figures and better in one; of equal rows the first stays.
    """
    usable, dropped = finite(points)
    order = usable.sort_values(["dpvar", "mse"], kind="stable")
    best = order["mse"].cummin().shift(fill_value=np.inf)
    return Kept(order[order["mse"] < best], dropped)

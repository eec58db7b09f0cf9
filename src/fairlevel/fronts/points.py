"""Models as rows of a frame with columns mse and dpvar; lower is better in both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fairlevel.arrays import Flags
from fairlevel.exceptions import InvalidInput


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


def non_dominated_within(points: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """The rows that no other row with the same ``keys`` dominates, by keys and ascending dpvar."""
    order = finite(points).sort_values([*keys, "dpvar", "mse"], kind="stable", ignore_index=True)
    groups = [order[key] for key in keys]
    best = order["mse"].groupby(groups).cummin().groupby(groups).shift()
    return order[order["mse"] < best.fillna(np.inf)].reset_index(drop=True)

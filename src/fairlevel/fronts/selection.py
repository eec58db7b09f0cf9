"""Select models by error and disparity on validation rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.points import finite

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

"""Choosing models by their figures on validation rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.points import Kept, finite

ZETAS: Array = np.concatenate([[0.0], np.logspace(-2, 3, 40)])
"""Weights of DPVar against MSE in the choice: none, then .01 to 1000."""


def select(points: pd.DataFrame, zetas: Sequence[float] | Array = ZETAS) -> Kept:
    r"""The winners of mse + ζ · dpvar over all ζ, each once, by ascending dpvar; ties go to the smaller dpvar.

    Only points on the lower convex hull can win.
    """
    weights = np.atleast_1d(np.asarray(zetas, dtype=np.float64))
    if weights.size == 0 or not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise InvalidInput(f"zetas={weights.tolist()} were given; finite numbers ≥ 0 are needed, such as [0, 0.1, 1].")
    usable, dropped = finite(points)
    order = usable.sort_values(["dpvar", "mse"], kind="stable")
    if order.empty:
        return Kept(order, dropped)
    scores = order["mse"].to_numpy()[:, None] + weights * order["dpvar"].to_numpy()[:, None]
    return Kept(order.iloc[np.unique(scores.argmin(axis=0))], dropped)

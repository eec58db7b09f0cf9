"""Models as rows of a frame with columns mse and dpvar: which are chosen, and the best within a budget."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.points import finite

ZETAS: Array = np.concatenate([[0.0], np.logspace(-2, 3, 40)])
"""Weights ζ of DPVar against MSE in the selection: 0, then 0.01 to 1000."""

SHARES = {"tight": 0.25, "mid": 0.50, "loose": 0.75}
"""The paper's budgets, as shares of the observed range of DPVar."""


def select(points: pd.DataFrame, zetas: Sequence[float] | Array = ZETAS) -> pd.DataFrame:
    r"""The models with the smallest mse + ζ · dpvar for some ζ, each once, by ascending dpvar (ties: smaller dpvar).

    Only points on the lower convex hull can be selected.
    """
    weights = np.atleast_1d(np.asarray(zetas, dtype=np.float64))
    if weights.size == 0 or not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise InvalidInput(f"zetas={weights.tolist()} were given; finite numbers ≥ 0 are needed, such as [0, 0.1, 1].")
    order = finite(points).sort_values(["dpvar", "mse"], kind="stable")
    if order.empty:
        return order
    scores = order["mse"].to_numpy()[:, None] + weights * order["dpvar"].to_numpy()[:, None]
    return order.iloc[np.unique(scores.argmin(axis=0))]


def non_dominated_within(points: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """The rows that no other row with the same ``keys`` dominates, by keys and ascending dpvar."""
    order = finite(points).sort_values([*keys, "dpvar", "mse"], kind="stable", ignore_index=True)
    groups = [order[key] for key in keys]
    best = order["mse"].groupby(groups).cummin().groupby(groups).shift()
    return order[order["mse"] < best.fillna(np.inf)].reset_index(drop=True)


def best_mse(points: pd.DataFrame, budgets: Sequence[float] | Array) -> Array:
    r"""min{mse : dpvar ≤ τ} for each budget τ; NaN where no point is within it. Shapes: (budget,)."""
    limits = np.atleast_1d(np.asarray(budgets, dtype=np.float64))
    if np.isnan(limits).any():
        raise InvalidInput(f"budgets={limits.tolist()} were given; numbers are needed.")
    usable = finite(points)
    mse, dpvar = usable["mse"].to_numpy(), usable["dpvar"].to_numpy()
    allowed = np.where(dpvar[:, None] <= limits, mse[:, None], np.inf)
    best = allowed.min(axis=0, initial=np.inf)
    return np.where(np.isfinite(best), best, np.nan)


def budgets_over_range(dpvar: Sequence[float] | Array, shares: Sequence[float] = tuple(SHARES.values())) -> Array:
    r"""Budgets τ_q = lo + q (hi − lo) for the shares q, where [lo, hi] is the observed range of DPVar; (share,)."""
    values = np.asarray(dpvar, dtype=np.float64)
    values = values[np.isfinite(values)]
    if values.size == 0:
        return np.full(len(shares), np.nan)
    budgets: Array = values.min() + np.asarray(shares, dtype=np.float64) * np.ptp(values)
    return budgets

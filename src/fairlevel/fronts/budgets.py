"""The smallest error among models whose DPVar is within a budget."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.points import finite

SHARES = {"tight": 0.25, "mid": 0.50, "loose": 0.75}
"""The paper's budgets, as shares of the observed range of DPVar."""


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

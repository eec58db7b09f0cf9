"""Budgets on DPVar, and the smallest error of each method within them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.benchmark.analysis.comparisons import points_on_test
from fairlevel.fronts.budgets import SHARES, budgets_over_range
from fairlevel.fronts.points import finite

FIXED_SHARES = (0.05, 0.10, 0.20)
"""Budgets on DPVar / Var f, which shrinking cannot meet."""

DEFINITIONS: dict[str, Callable[[Array], Array]] = {
    "range": budgets_over_range,  # as in the paper: shares of the observed range
    "largest": lambda dpvar: np.array(list(SHARES.values())) * np.max(dpvar, initial=0.0),
    "fixed": lambda dpvar: np.array(FIXED_SHARES),  # for points whose DPVar is a share of the variance of predictions
}
"""From all DPVar values of a dataset to its tight, mid and loose budgets."""


def best_by_budget(points: pd.DataFrame, methods: Sequence[str], definition: str = "range") -> pd.DataFrame:
    """Smallest test MSE of each method within each budget: one row per (dataset, seed, method, budget), in this order;
    NaN where the method has no model within the budget.
    """
    if points.empty:
        return pd.DataFrame(columns=["dataset", "seed", "budget", "method", "limit", "mse"])
    limits = {
        dataset: DEFINITIONS[definition](here["dpvar"].to_numpy(dtype=np.float64))
        for dataset, here in points.groupby("dataset", sort=False)
    }
    pairs = points[["dataset", "seed"]].drop_duplicates()
    limit = np.stack([limits[dataset] for dataset in pairs["dataset"]])  # (pair, budget)
    usable = finite(points)
    pair = pd.MultiIndex.from_frame(pairs).get_indexer(pd.MultiIndex.from_frame(usable[["dataset", "seed"]]))
    method = pd.Index(methods).get_indexer(pd.Index(usable["method"]))
    mse, dpvar = (usable[name].to_numpy(dtype=np.float64) for name in ("mse", "dpvar"))
    best = np.full((len(pairs), len(methods), len(SHARES)), np.inf)
    for number in range(len(SHARES)):
        within = (dpvar <= limit[pair, number]) & (method >= 0)
        np.minimum.at(best[..., number], (pair[within], method[within]), mse[within])
    rows = pairs.iloc[np.repeat(np.arange(len(pairs)), len(methods) * len(SHARES))].reset_index(drop=True)
    return rows.assign(
        budget=[*SHARES] * (len(pairs) * len(methods)),
        method=np.repeat(list(methods), len(SHARES)).tolist() * len(pairs),
        limit=np.repeat(limit, len(methods), axis=0).ravel(),
        mse=np.where(np.isinf(best), np.nan, best).ravel(),
    )


def budget_table(rows: pd.DataFrame, methods: Sequence[str], dpvar: str = "dpvar_test") -> pd.DataFrame:
    """Smallest test MSE within tight, mid and loose budgets, for each dataset and method: median and range over seeds.

    ``feasible`` counts the seeds with a model within the budget.
    """
    best = best_by_budget(points_on_test(rows[rows["method"].isin(list(methods))], dpvar), methods)
    grouped = best.groupby(["dataset", "method", "budget"], sort=False)
    table = grouped.agg(
        limit=("limit", "first"),
        feasible=("mse", "count"),
        seeds=("seed", "nunique"),
        median=("mse", "median"),
        low=("mse", "min"),
        high=("mse", "max"),
    )
    return table.reset_index()

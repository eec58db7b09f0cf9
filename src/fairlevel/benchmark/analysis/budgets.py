"""Budgets on DPVar, and the smallest error of each method within them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.benchmark.analysis.comparisons import points_on_test
from fairlevel.fronts.budgets import SHARES, best_mse, budgets_over_range

DEFINITIONS: dict[str, Callable[[Array], Array]] = {
    "range": budgets_over_range,  # as in the paper: shares of the observed range
    "largest": lambda dpvar: np.array(list(SHARES.values())) * np.max(dpvar, initial=0.0),
    "fixed": lambda dpvar: np.array(FIXED_SHARES),  # for points whose DPVar is a share of the variance of predictions
}
"""From all DPVar values of a dataset to its tight, mid and loose budgets."""

FIXED_SHARES = (0.05, 0.10, 0.20)
"""Budgets on DPVar / Var f, which shrinking cannot meet."""


def best_by_budget(points: pd.DataFrame, methods: Sequence[str], definition: str = "range") -> pd.DataFrame:
    """Smallest test MSE of each method within each budget: one row per (dataset, seed, budget, method); NaN where the
    method has no model within the budget.
    """
    found = []
    for dataset, here in points.groupby("dataset", sort=False):
        limits = DEFINITIONS[definition](here["dpvar"].to_numpy(dtype=np.float64))
        for seed, of_seed in here.groupby("seed", sort=False):
            for method in methods:
                best = best_mse(of_seed[of_seed["method"] == method], limits)
                table = pd.DataFrame({"budget": list(SHARES), "limit": limits, "mse": best})
                found.append(table.assign(dataset=dataset, seed=seed, method=method))
    columns = ["dataset", "seed", "budget", "method", "limit", "mse"]
    return pd.concat(found, ignore_index=True)[columns] if found else pd.DataFrame(columns=columns)


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

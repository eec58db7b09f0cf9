"""How far each method is from the best one: regret and hypervolume."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fairlevel.benchmark.analysis.budgets import best_by_budget
from fairlevel.fronts.budgets import SHARES
from fairlevel.fronts.points import non_dominated_within
from fairlevel.fronts.quality import regret

CONSTANT_MSE = 1.0  # error of the constant prediction in standardised units; it meets every budget


def regrets_by_pair(points: pd.DataFrame, methods: Sequence[str], definition: str = "range") -> pd.DataFrame:
    """Regret at each budget: one row per (dataset, seed, method), one column per budget.

    Regret is the distance to the smallest MSE of any method, as a share of what can be gained over the constant
    prediction on that dataset and seed.
    """
    best = best_by_budget(points, methods, definition)
    if best.empty:
        return pd.DataFrame(columns=["dataset", "seed", "method", *SHARES])
    # rows are sorted by pair, method and budget
    errors = best["mse"].to_numpy(dtype=np.float64).reshape(-1, len(methods), len(SHARES))
    index = best[["dataset", "seed", "method"]].iloc[:: len(SHARES)].reset_index(drop=True)
    lost = np.concatenate([regret(pair, CONSTANT_MSE) for pair in errors])
    return pd.concat([index, pd.DataFrame(lost, columns=list(SHARES))], axis=1)


def regret_table(points: pd.DataFrame, methods: Sequence[str], definition: str = "range") -> pd.DataFrame:
    """Mean regret of each method at each budget over datasets and seeds, and its mean hypervolume: one row per method.

    Hypervolume is the area between the front and the corner (1, largest DPVar), as a share of that rectangle.
    """
    if points.empty:
        return pd.DataFrame(columns=["method", *SHARES, "mean", "hypervolume"])
    mean = regrets_by_pair(points, methods, definition).groupby("method")[list(SHARES)].mean().reindex(list(methods))
    table = mean.assign(mean=mean.mean(axis=1), hypervolume=_hypervolumes(points, methods))
    return table.rename_axis("method").reset_index()


def _hypervolumes(points: pd.DataFrame, methods: Sequence[str]) -> pd.Series:
    """Mean over datasets and seeds, by method; a method without points on a pair counts as 0 there."""
    keys = ["dataset", "seed", "method"]
    largest = points.groupby("dataset")["dpvar"].transform("max")
    here = points.assign(largest=largest, dpvar=points["dpvar"].clip(lower=0))[largest > 0]
    pairs = len(here[["dataset", "seed"]].drop_duplicates())
    front = non_dominated_within(here, keys)
    front = front[(front["mse"] < CONSTANT_MSE) & (front["dpvar"] < front["largest"])]
    following = front.groupby(keys)["dpvar"].shift(-1).fillna(front["largest"])
    area = (following - front["dpvar"]) * (CONSTANT_MSE - front["mse"]) / (CONSTANT_MSE * front["largest"])
    total = area.groupby(front["method"]).sum().reindex(list(methods)).fillna(0.0)
    return total / pairs if pairs else total * np.nan

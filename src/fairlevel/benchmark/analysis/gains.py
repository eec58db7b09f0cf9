"""What fairness training gains over shrinking a plain model of the same kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fairlevel.benchmark.analysis.budgets import best_by_budget
from fairlevel.benchmark.analysis.regrets import CONSTANT_MSE
from fairlevel.benchmark.methods import METHODS
from fairlevel.fronts.budgets import SHARES


def gain_table(
    points: pd.DataFrame, methods: Sequence[str], references: pd.DataFrame, definition: str = "range"
) -> pd.DataFrame:
    r"""One row per method: 1 − MSE / MSE of its reference within the same budget, mean over datasets and seeds.

    The reference of a network is the plain network, that of boosters and of ``auto`` the plain booster; ``references``
    are their points. What has no model within a budget gets the constant. Missing where the reference was not run.
    """
    if points.empty or references.empty:
        return pd.DataFrame(np.nan, index=pd.RangeIndex(len(methods)), columns=[*SHARES, "mean"]).assign(
            method=list(methods)
        )[["method", *SHARES, "mean"]]
    best = best_by_budget(points, methods, definition)
    limits = best[["dataset", "seed", "budget", "limit"]].drop_duplicates()
    plain = limits.merge(references[["dataset", "seed", "method", "mse", "dpvar"]], on=["dataset", "seed"])
    plain["mse"] = plain["mse"].where(plain["dpvar"] <= plain["limit"], CONSTANT_MSE)
    keys = ["dataset", "seed", "budget", "reference"]
    smallest = plain.rename(columns={"method": "reference"}).groupby(keys)["mse"].min().clip(upper=CONSTANT_MSE)
    own = best.assign(reference=[METHODS[method].reference for method in best["method"]])
    own = own.merge(smallest.rename("plain").reset_index(), on=keys, how="left")
    own["gain"] = 1 - own["mse"].fillna(CONSTANT_MSE).clip(upper=CONSTANT_MSE) / own["plain"]
    mean = own.pivot_table(index="method", columns="budget", values="gain", aggfunc="mean")
    table = mean.reindex(index=list(methods), columns=list(SHARES)).rename_axis(index="method", columns=None)
    return table.assign(mean=table.mean(axis=1)).reset_index()

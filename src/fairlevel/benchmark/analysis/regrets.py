"""How far each method is from the best one: regret and hypervolume."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fairlevel.benchmark.analysis.budgets import best_by_budget
from fairlevel.fronts.budgets import SHARES
from fairlevel.fronts.quality import hypervolume, regret

CONSTANT_MSE = 1.0  # error of the constant prediction in standardised units; it meets every budget


def regret_table(points: pd.DataFrame, methods: Sequence[str], definition: str = "range") -> pd.DataFrame:
    """Mean regret of each method at each budget over datasets and seeds, and its mean hypervolume: one row per method.

    Regret is the distance to the smallest MSE of any method, as a share of what can be gained over the constant
    prediction on that dataset and seed. Hypervolume is the area between the front and the corner (1, largest DPVar), as
    a share of that rectangle.
    """
    best = best_by_budget(points, methods, definition)
    regrets = []
    for _, here in best.groupby(["dataset", "seed"], sort=False):
        table = here.pivot(index="method", columns="budget", values="mse").reindex(index=list(methods))[list(SHARES)]
        lost = regret(table.to_numpy(dtype=np.float64), CONSTANT_MSE)
        regrets.append(pd.DataFrame(lost, index=list(methods), columns=list(SHARES)))
    if not regrets:
        return pd.DataFrame(columns=["method", *SHARES, "mean", "hypervolume"])
    mean = sum(regrets[1:], regrets[0]) / len(regrets)
    table = mean.assign(mean=mean.mean(axis=1), hypervolume=_hypervolumes(points, methods))
    return table.rename_axis("method").reset_index()


def _hypervolumes(points: pd.DataFrame, methods: Sequence[str]) -> pd.Series:
    """Mean over datasets and seeds, by method; a method without points on a pair counts as 0 there."""
    found: dict[str, list[float]] = {method: [] for method in methods}
    for _, here in points.groupby("dataset", sort=False):
        largest = float(here["dpvar"].max())
        if largest <= 0:
            continue
        for _, of_seed in here.groupby("seed", sort=False):
            for method in methods:
                own = of_seed[of_seed["method"] == method]
                found[method].append(hypervolume(own, (CONSTANT_MSE, largest)) / (CONSTANT_MSE * largest))
    return pd.Series({method: float(np.mean(values)) if values else np.nan for method, values in found.items()})

"""How far each method is from the best one, and from shrinking a plain model: regret, hypervolume, gain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel_study.analysis.budgets import best_by_budget
from fairlevel_study.methods import METHODS
from fairlevel_study.points import SHARES, non_dominated_within

CONSTANT_MSE = 1.0  # error of the constant prediction in standardised units; it meets every budget


def regret(best: Array) -> Array:
    r"""The distance of each method to the best one, as a share of what can be gained over the constant prediction.

    .. math:: \frac{m(\tau) - \min_{methods} m(\tau)}{m_{const} - \min_{methods, \tau} m(\tau)}

    The constant prediction meets every budget, so a method without a model within the budget gets its error. Shapes:
    best (method, budget), NaN where no model is within the budget -> (method, budget).
    """
    reached = np.fmin(np.asarray(best, dtype=np.float64), CONSTANT_MSE)  # of NaN and a number, the number
    gain = CONSTANT_MSE - reached.min()
    lost: Array = reached - reached.min(axis=0)
    return lost / gain if gain > 0 else np.zeros_like(lost)


def regrets_by_pair(points: pd.DataFrame, methods: Sequence[str], definition: str = "range") -> pd.DataFrame:
    """:func:`regret` at each budget: one row per (dataset, seed, method), one column per budget."""
    best = best_by_budget(points, methods, definition)
    if best.empty:
        return pd.DataFrame(columns=["dataset", "seed", "method", *SHARES])
    # rows are sorted by pair, method and budget
    errors = best["mse"].to_numpy(dtype=np.float64).reshape(-1, len(methods), len(SHARES))
    index = best[["dataset", "seed", "method"]].iloc[:: len(SHARES)].reset_index(drop=True)
    lost = np.concatenate([regret(pair) for pair in errors])
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

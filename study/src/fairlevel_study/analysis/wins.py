"""Wins by seed and by dataset, bootstrap intervals of the shares, and where the definition of a budget decides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel_study.analysis.budgets import best_by_budget
from fairlevel_study.points import SHARES

_ABSOLUTE, _RELATIVE = 1e-12, 1e-9  # smaller differences of MSE count as a tie
LEVEL, RESAMPLES, SEED = 0.95, 10_000, 0


def seed_wins(best: pd.DataFrame) -> pd.DataFrame:
    """Add ``win``: 1 for the lowest MSE of a (dataset, seed, budget), shared among ties, 0 for a method without a model
    within the budget; NaN where no method has one.
    """
    lowest = best.groupby(["dataset", "seed", "budget"])["mse"].transform("min")
    ahead = best["mse"] <= lowest + _ABSOLUTE + _RELATIVE * lowest.abs()
    count = ahead.groupby([best["dataset"], best["seed"], best["budget"]]).transform("sum")
    return best.assign(win=np.where(lowest.isna(), np.nan, ahead / count.clip(lower=1)))


def dataset_wins(wins: pd.DataFrame) -> pd.DataFrame:
    """Win rate over seeds of each (dataset, budget, method), and in ``won`` the share of the dataset that the method
    wins: 1 for the method with the highest rate, split among ties.
    """
    decided = wins.dropna(subset="win")
    rates = decided.groupby(["dataset", "budget", "method"], sort=False)["win"].mean().rename("rate").reset_index()
    highest = rates.groupby(["dataset", "budget"])["rate"].transform("max")
    winner = rates["rate"] >= highest - _RELATIVE
    return rates.assign(won=winner / winner.groupby([rates["dataset"], rates["budget"]]).transform("sum"))


def win_rates(points: pd.DataFrame, methods: Sequence[str], definition: str = "range") -> pd.DataFrame:
    """For each budget and method: ``pairs``, the share of (dataset, seed) pairs won; ``share``, the share of datasets
    won, with a 95 % percentile bootstrap interval over datasets; ``datasets``, the number of datasets on which some
    method has a model within the budget.
    """
    wins = seed_wins(best_by_budget(points, methods, definition))
    by_dataset = dataset_wins(wins)
    table = []
    for budget in SHARES:
        here = by_dataset[by_dataset["budget"] == budget]
        won = here.pivot(index="dataset", columns="method", values="won").reindex(columns=list(methods)).to_numpy()
        low, high = bootstrap(won)
        pairs = wins[wins["budget"] == budget].groupby("method")["win"].mean()
        for number, method in enumerate(methods):
            row = {"budget": budget, "method": method, "pairs": pairs.get(method, np.nan)}
            row |= {"share": won[:, number].mean() if len(won) else np.nan, "low": low[number], "high": high[number]}
            table.append(row | {"datasets": len(won)})
    return pd.DataFrame(table)


def bootstrap(values: Array) -> tuple[Array, Array]:
    """95 % percentile interval of the mean over datasets: (dataset, method) -> low, high (method,), NaN without any."""
    count, methods = values.shape
    if not count:
        return np.full(methods, np.nan), np.full(methods, np.nan)
    random = np.random.default_rng(SEED)
    weight = random.multinomial(count, np.full(count, 1 / count), size=RESAMPLES) / count  # (resample, dataset)
    low, high = np.quantile(weight @ values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return low, high


def winners(points: pd.DataFrame, methods: Sequence[str], definition: str) -> pd.Series:
    """The method that wins each (dataset, budget), the first one of equals."""
    by_dataset = dataset_wins(seed_wins(best_by_budget(points, methods, definition)))
    first = by_dataset.sort_values("won", ascending=False, kind="stable").drop_duplicates(["dataset", "budget"])
    return first.set_index(["dataset", "budget"])["method"]


def flipped(one: pd.Series, other: pd.Series) -> pd.DataFrame:
    """One row per (dataset, budget) with different winners: dataset, budget, and both."""
    both = pd.concat([one.rename("one"), other.rename("other")], axis=1, join="inner")
    return both[both["one"] != both["other"]].reset_index()

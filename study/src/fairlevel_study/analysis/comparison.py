"""Which models are compared, budgets on DPVar, and who wins within them: wins, regret, hypervolume, gain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.candidates.combined import CONSTANT
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.points import finite
from fairlevel_study.methods import METHODS, REFERENCES
from fairlevel_study.points import SHARES, budgets_over_range, non_dominated_within

SMALLEST_VARIANCE = 1e-4  # predictions that vary less, in standardised units, are the constant: they have no share

CombinerOf = Callable[[str], str]
"""From a method's name to the value of the column ``combiner``: "best" (single models) or "stacked" (mixtures)."""


class MethodComparison(NamedTuple):
    """A title, and for each method whether its single models or its mixtures are compared. Plain models are mixed with
    the constant in all of them: shrinking is what they are there for.
    """

    title: str
    combiner_of: CombinerOf


COMPARISONS: dict[str, MethodComparison] = {
    "single": MethodComparison(
        "single models of every method, as in the paper", lambda method: "stacked" if method in REFERENCES else "best"
    ),
    "default": MethodComparison(
        "mixtures of auto, its default, against single models of the other methods",
        lambda method: "stacked" if method in ("auto", *REFERENCES) else "best",
    ),
    "stacked": MethodComparison("mixtures of models of every method", lambda method: "stacked"),
}


def compared_rows(rows: pd.DataFrame, methods: Sequence[str], combiner_of: CombinerOf) -> pd.DataFrame:
    """The rows of the models that represent each method in a comparison."""
    wanted = rows["combiner"] == rows["method"].map(combiner_of)
    return rows[wanted & rows["method"].isin(list(methods))]


def complete(rows: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Rows of the (dataset, seed) pairs on which every method has been run, so that no method wins without rivals."""
    present = rows[rows["method"].isin(list(methods))].groupby(["dataset", "seed"])["method"].nunique()
    full = present[present == len(set(methods))].index
    return rows[pd.MultiIndex.from_frame(rows[["dataset", "seed"]]).isin(full)]


def in_units_of_the_constant(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with ``mse_test`` divided by that of the constant prediction on the same dataset and seed, where some method
    has selected the constant; R² on test rows is then 1 − MSE. Errors in rows are in units of the training rows'
    variance, and a few hundred test rows may vary by 40 % more or less.
    """
    constant = rows[(rows["family"] == CONSTANT) & rows["mse_test"].notna()]
    errors = constant.groupby(["dataset", "seed"])["mse_test"].first()
    pairs = pd.MultiIndex.from_frame(rows[["dataset", "seed"]])
    return rows.assign(mse_test=rows["mse_test"] / errors.reindex(pairs).fillna(1.0).to_numpy())


def with_shares(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with ``share_test``, the debiased DPVar as a share of the variance of the predictions. Shrinking does not
    move it; the paper's diagnostic would add a share of noise of its own.
    """
    varies = rows["variance_test"] > SMALLEST_VARIANCE
    return rows.assign(share_test=(rows["dpvar_debiased_test"] / rows["variance_test"]).where(varies))


def points_on_test(rows: pd.DataFrame, dpvar: str = "dpvar_test") -> pd.DataFrame:
    """The selected models of each (dataset, seed, method) on TEST, without dominated ones; columns mse and dpvar."""
    if dpvar not in rows:
        raise InvalidInput(f"The rows have no column {dpvar!r}.")
    chosen = rows[rows["selected"].to_numpy(dtype=bool)]
    chosen = chosen.assign(mse=chosen["mse_test"], dpvar=chosen[dpvar])
    return non_dominated_within(chosen, ["dataset", "seed", "method"])


FIXED_SHARES = (0.05, 0.10, 0.20)  # budgets on DPVar / Var f, which shrinking cannot meet

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
    keys = ["dataset", "seed", "method", "budget"]
    limits = [
        pd.DataFrame({"dataset": dataset, "budget": SHARES.keys(), "limit": DEFINITIONS[definition](here.to_numpy())})
        for dataset, here in points.groupby("dataset", sort=False)["dpvar"]
    ]
    pairs = points[["dataset", "seed"]].drop_duplicates()
    table = pairs.merge(pd.DataFrame({"method": list(methods)}), how="cross").merge(pd.concat(limits), on="dataset")
    within = table.merge(finite(points)[[*keys[:3], "mse", "dpvar"]], on=keys[:3])
    best = within[within["dpvar"] <= within["limit"]].groupby(keys)["mse"].min()
    return table.assign(mse=best.reindex(pd.MultiIndex.from_frame(table[keys])).to_numpy())


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
        return pd.DataFrame({"method": list(methods), **dict.fromkeys([*SHARES, "mean"], np.nan)})
    best = best_by_budget(points, methods, definition)
    limits = best[["dataset", "seed", "budget", "limit"]].drop_duplicates()
    plain = limits.merge(references[["dataset", "seed", "method", "mse", "dpvar"]], on=["dataset", "seed"])
    plain["mse"] = plain["mse"].where(plain["dpvar"] <= plain["limit"], CONSTANT_MSE)
    keys = ["dataset", "seed", "budget", "reference"]
    smallest = plain.rename(columns={"method": "reference"}).groupby(keys)["mse"].min().clip(upper=CONSTANT_MSE)
    best = best.assign(reference=[METHODS[method].reference for method in best["method"]])
    best = best.merge(smallest.rename("plain").reset_index(), on=keys, how="left")
    best["gain"] = 1 - best["mse"].fillna(CONSTANT_MSE).clip(upper=CONSTANT_MSE) / best["plain"]
    mean = best.pivot_table(index="method", columns="budget", values="gain", aggfunc="mean")
    table = mean.reindex(index=list(methods), columns=list(SHARES)).rename_axis(index="method", columns=None)
    return table.assign(mean=table.mean(axis=1)).reset_index()

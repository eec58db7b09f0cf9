"""Budgets on DPVar: which models are compared, and the smallest error of each method within a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.candidates.combined import CONSTANT
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.points import finite
from fairlevel_study.methods import REFERENCES
from fairlevel_study.points import SHARES, budgets_over_range, non_dominated_within

SMALLEST_VARIANCE = 1e-4
"""Predictions that vary less, in standardised units, have no share of disparity: they are the constant."""

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

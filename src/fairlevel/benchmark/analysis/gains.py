"""What fairness training gains over shrinking a plain model of the same kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fairlevel.benchmark.analysis.budgets import best_by_budget
from fairlevel.benchmark.analysis.regrets import CONSTANT_MSE
from fairlevel.benchmark.methods import METHODS
from fairlevel.fronts.budgets import SHARES, best_mse


def gain_table(
    points: pd.DataFrame, methods: Sequence[str], references: pd.DataFrame, definition: str = "range"
) -> pd.DataFrame:
    r"""One row per method: 1 − MSE / MSE of its reference within the same budget, mean over datasets and seeds.

    The reference of a network is the plain network, that of boosters and of ``auto`` the plain booster; ``references``
    are their points. What has no model within a budget gets the constant. Missing where the reference was not run.
    """
    best = best_by_budget(points, methods, definition).set_index(["dataset", "seed", "budget"])
    own = {(name, *pair): group for (name, *pair), group in references.groupby(["method", "dataset", "seed"])}
    found = []
    for method in methods:
        mine = best[best["method"] == method]
        gains = []
        for (dataset, seed, budget), row in mine.iterrows():
            plain = own.get((METHODS[method].reference, dataset, seed))
            if plain is not None:
                reference = _reached(best_mse(plain, [row["limit"]])[0])
                gains.append((budget, 1 - _reached(row["mse"]) / reference))
        mean = pd.DataFrame(gains, columns=["budget", "gain"]).groupby("budget")["gain"].mean()
        found.append({"method": method} | mean.reindex(list(SHARES)).to_dict())
    table = pd.DataFrame(found, columns=["method", *SHARES])
    return table.assign(mean=table[list(SHARES)].mean(axis=1))


def _reached(mse: float) -> float:
    """The error of a model, or of the constant where there is no better one within the budget."""
    return CONSTANT_MSE if np.isnan(mse) else min(float(mse), CONSTANT_MSE)

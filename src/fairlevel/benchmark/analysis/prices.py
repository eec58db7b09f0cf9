"""The price of fairness on a dataset, in words."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairlevel.benchmark.analysis.regrets import CONSTANT_MSE
from fairlevel.candidates.constant import FAMILY


def constant_errors(rows: pd.DataFrame) -> pd.Series:
    """Test MSE of the constant prediction, (dataset, seed), where some method has selected it. Test rows may vary more
    or less than the training rows that y is standardised by: on a few hundred rows by up to 40 %.
    """
    constant = rows[(rows["family"] == FAMILY) & rows["mse_test"].notna()]
    return constant.groupby(["dataset", "seed"])["mse_test"].first()


def price_table(points: pd.DataFrame, constant: pd.Series, left: float = 0.5) -> pd.DataFrame:
    """One row per dataset: R² of the most accurate model, R² of the most accurate one with at most the share ``left``
    of its DPVar, and the part of R² that this costs; medians over seeds. Points of one method. R² is 1 − MSE / MSE of
    the constant on the same rows (1 where ``constant`` does not say).
    """
    found = []
    for (dataset, seed), front in points.groupby(["dataset", "seed"], sort=False):
        best = front.sort_values("mse").iloc[0]
        within = front[front["dpvar"] <= left * best["dpvar"]]
        total = float(constant.get((dataset, seed), CONSTANT_MSE))
        accuracy, kept = 1 - float(best["mse"]) / total, 1 - float(within["mse"].min()) / total if len(within) else 0.0
        cost = 1 - kept / accuracy if accuracy > 0 else np.nan
        found.append({"dataset": dataset, "seed": seed, "R2": accuracy, "R2 within": kept, "cost": cost})
    columns = ["dataset", "seed", "R2", "R2 within", "cost"]
    table = pd.DataFrame(found, columns=columns)
    return table.groupby("dataset", sort=False)[columns[2:]].median().reset_index()

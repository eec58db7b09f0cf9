"""The price of fairness on a dataset, in words."""

from __future__ import annotations

import numpy as np
import pandas as pd


def price_table(points: pd.DataFrame, left: float = 0.5) -> pd.DataFrame:
    """One row per dataset: R² of the most accurate model, R² of the most accurate one with at most the share ``left``
    of its DPVar, and the part of R² that this costs; medians over seeds. Points of one method, errors in
    units of the constant's.
    """
    found = []
    for (dataset, seed), front in points.groupby(["dataset", "seed"], sort=False):
        best = front.sort_values("mse").iloc[0]
        within = front[front["dpvar"] <= left * best["dpvar"]]
        accuracy, kept = 1 - float(best["mse"]), 1 - float(within["mse"].min()) if len(within) else 0.0
        cost = 1 - kept / accuracy if accuracy > 0 else np.nan
        found.append({"dataset": dataset, "seed": seed, "R2": accuracy, "R2 within": kept, "cost": cost})
    columns = ["dataset", "seed", "R2", "R2 within", "cost"]
    table = pd.DataFrame(found, columns=columns)
    return table.groupby("dataset", sort=False)[columns[2:]].median().reset_index()

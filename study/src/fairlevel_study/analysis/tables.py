"""Tables of a study beside the comparison of methods: datasets, which of them have a trade-off, costs, prices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fairlevel_study.rows import KEY

SMALLEST_RANGE = 0.1
"""Smallest range of MSE and of DPVar on VAL, in standardised units, of a dataset that counts: the paper's filter."""


def validation_ranges(rows: pd.DataFrame) -> pd.DataFrame:
    """Range of MSE and DPVar on VAL over the selected single models of all methods, by dataset: median over seeds.
    ``informative`` says whether both ranges are at least 0.1.
    """
    chosen = rows[rows["selected"].to_numpy(dtype=bool) & (rows["combiner"] == "best").to_numpy()]
    by_seed = chosen.groupby(["dataset", "seed"])[["mse_val", "dpvar_val"]]
    ranges = (by_seed.max() - by_seed.min()).groupby("dataset").median()
    return ranges.assign(informative=(ranges >= SMALLEST_RANGE).all(axis=1))


def attribute_table(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per dataset: numbers of rows, features and attributes, features that copy an attribute, and how many
    different sets of attributes were constructed over the seeds.
    """
    by_seed = rows.drop_duplicates(["dataset", "seed"])
    table = by_seed.groupby("dataset").agg(
        rows=("rows", "first"),
        features=("features", "median"),
        attributes=("attributes", "median"),
        copies=("copies", "max"),
        seeds=("seed", "nunique"),
        sets=("sensitive", "nunique"),
    )
    return table.reset_index()


def cost_table(rows: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """One row per method: tasks, models per task, share of models that diverged, seconds per task (median and sum) and
    the largest memory on a GPU (median over tasks, in MiB; missing on a CPU).
    """
    single = rows[rows["combiner"] == "best"]
    tasks = single.drop_duplicates(list(KEY))
    models = single.groupby("method").size()
    diverged = (single["status"] == "diverged").groupby(single["method"]).sum()
    by_method = tasks.groupby("method")
    table = pd.DataFrame(
        {
            "tasks": by_method.size(),
            "models per task": models / by_method.size(),
            "diverged": diverged / models,
            "seconds": by_method["seconds"].median(),
            "hours in all": by_method["seconds"].sum() / 3600,
            "memory (MiB)": by_method["memory"].median(),
        }
    )
    return table.reindex([name for name in methods if name in table.index]).rename_axis("method").reset_index()


def price_table(points: pd.DataFrame) -> pd.DataFrame:
    """One row per dataset: R² of the most accurate model, R² of the most accurate one with at most half of its
    DPVar, and the part of R² that this costs; medians over seeds. Points of one method, errors in
    units of the constant's.
    """
    found = []
    for (dataset, seed), front in points.groupby(["dataset", "seed"], sort=False):
        best = front.sort_values("mse").iloc[0]
        within = front[front["dpvar"] <= 0.5 * best["dpvar"]]
        accuracy, kept = 1 - float(best["mse"]), 1 - float(within["mse"].min()) if len(within) else 0.0
        cost = 1 - kept / accuracy if accuracy > 0 else np.nan
        found.append({"dataset": dataset, "seed": seed, "R2": accuracy, "R2 within": kept, "cost": cost})
    columns = ["dataset", "seed", "R2", "R2 within", "cost"]
    table = pd.DataFrame(found, columns=columns)
    return table.groupby("dataset", sort=False)[columns[2:]].median().reset_index()

"""How stable the constructed attributes are."""

from __future__ import annotations

import pandas as pd


def attribute_table(rows: pd.DataFrame) -> pd.DataFrame:
    """By dataset: rows, features, attributes, copies of attributes among the features, and how many different sets of
    attributes the seeds chose.
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

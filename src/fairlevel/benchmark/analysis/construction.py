"""The datasets of a study, and how stable their constructed attributes are over seeds."""

from __future__ import annotations

import pandas as pd


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

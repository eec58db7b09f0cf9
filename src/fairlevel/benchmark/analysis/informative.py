"""Which datasets have a trade-off on which methods can be compared."""

from __future__ import annotations

import pandas as pd

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

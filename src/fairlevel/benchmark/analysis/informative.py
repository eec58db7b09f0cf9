"""Which datasets have a trade-off to compare methods on."""

from __future__ import annotations

import pandas as pd

SMALLEST_RANGE = 0.1
"""Of MSE and of DPVar on VAL, in standardised units: the paper's filter."""


def validation_ranges(rows: pd.DataFrame) -> pd.DataFrame:
    """Range of both figures on VAL over the selected single models of all methods: the median over seeds, by dataset;
    ``informative`` says whether both are at least .1.
    """
    chosen = rows[rows["selected"].to_numpy(dtype=bool) & (rows["combiner"] == "best").to_numpy()]
    by_seed = chosen.groupby(["dataset", "seed"])[["mse_val", "dpvar_val"]]
    ranges = (by_seed.max() - by_seed.min()).groupby("dataset").median()
    return ranges.assign(informative=(ranges >= SMALLEST_RANGE).all(axis=1))

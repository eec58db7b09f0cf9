"""A front in the terminal: the same table for trained and re-levelled models, at most 80 columns wide."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from rich.table import Table

from fairlevel.report.numbers import number

MOST_LEVEL, KNEE = "most level", "knee"
"""What models are called, in the terminal and on the page."""


def front_table(rows: Mapping[str, pd.Series]) -> Table:
    """One row per model: its error, how far its average prediction moves (±, the root of DPVar), and DPVar."""
    first = next(iter(rows.values()))
    table = Table()
    error, _ = error_of(first)
    second = next(((heading, name) for name, heading in (("r2", "R²"), ("auc", "AUC")) if name in first), None)
    for heading in ("model", error, *([second[0]] if second else []), "±", "95 % interval", "share", "DPVar"):
        whole = heading == "DPVar"  # its digits are not cut off: other columns get narrower first
        table.add_column(heading, justify="left" if heading == "model" else "right", no_wrap=whole)
    for label, row in rows.items():
        table.add_row(
            label,
            number(error_of(row)[1]),
            *([_figure(row[second[1]])] if second else []),
            number(max(row["dpvar"], 0.0) ** 0.5, 3),
            f"{number(row['dpvar_low'] ** 0.5, 3)} to {number(row['dpvar_high'] ** 0.5, 3)}",
            f"{row['share']:.1%}",
            number(max(row["dpvar"], 0.0)),
        )
    return table


def _figure(value: float) -> str:
    """R² or AUC with three decimals; a dash where there is none."""
    return "–" if pd.isna(value) else f"{value:.3f}".replace("-", "−")


def error_of(row: pd.Series) -> tuple[str, float]:
    """What the error of a row of a front is called, and its value in units of the target."""
    if "auc" in row:
        return "Brier score", row["mse"]
    return ("RMSE", row["mse"] ** 0.5) if pd.notna(row["mse"]) else ("RMS change", row["distance"] ** 0.5)

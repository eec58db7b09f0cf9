"""Datasets whose winner depends on how a budget is defined."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fairlevel.benchmark.analysis.budgets import best_by_budget
from fairlevel.benchmark.analysis.wins import dataset_wins, seed_wins


def winners(points: pd.DataFrame, methods: Sequence[str], definition: str) -> pd.Series:
    """The method that wins each (dataset, budget), the first one of equals."""
    by_dataset = dataset_wins(seed_wins(best_by_budget(points, methods, definition)))
    first = by_dataset.sort_values("won", ascending=False, kind="stable").drop_duplicates(["dataset", "budget"])
    return first.set_index(["dataset", "budget"])["method"]


def flipped(one: pd.Series, other: pd.Series) -> pd.DataFrame:
    """One row per (dataset, budget) with different winners: dataset, budget, and both."""
    both = pd.concat([one.rename("one"), other.rename("other")], axis=1, join="inner")
    return both[both["one"] != both["other"]].reset_index()

"""Who meets whom: rows of a study as points of the methods that are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.points import non_dominated

Combiner = Callable[[str], str]
"""From a method's name to which of its models enter: "best" (single ones) or "stacked" (mixtures)."""

COMPARISONS: dict[str, tuple[str, Combiner]] = {
    "single": ("every method with single models, as in the paper", lambda method: "best"),
    "default": (
        "auto as it is used, stacked, against the single models of the others",
        lambda method: "stacked" if method == "auto" else "best",
    ),
    "stacked": ("every method with mixtures of its models", lambda method: "stacked"),
}


def enter(rows: pd.DataFrame, methods: Sequence[str], combiner: Combiner) -> pd.DataFrame:
    """Rows of the models with which each method takes part."""
    wanted = rows["combiner"] == rows["method"].map(combiner)
    return rows[wanted & rows["method"].isin(list(methods))]


def complete(rows: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Rows of the (dataset, seed) pairs for which every method has been run: nobody wins by being alone."""
    present = rows[rows["method"].isin(list(methods))].groupby(["dataset", "seed"])["method"].nunique()
    full = present[present == len(set(methods))].index
    return rows[pd.MultiIndex.from_frame(rows[["dataset", "seed"]]).isin(full)]


def points_on_test(rows: pd.DataFrame, dpvar: str = "dpvar_test") -> pd.DataFrame:
    """The selected models of each (dataset, seed, method) on TEST, dominated ones dropped; columns mse and dpvar."""
    if dpvar not in rows:
        raise InvalidInput(f"The rows have no column {dpvar!r}.")
    chosen = rows[rows["selected"].to_numpy(dtype=bool)]
    chosen = chosen.assign(mse=chosen["mse_test"], dpvar=chosen[dpvar])
    fronts = [non_dominated(group).points for _, group in chosen.groupby(["dataset", "seed", "method"], sort=False)]
    return pd.concat(fronts, ignore_index=True) if fronts else chosen

"""The best error of each method within every budget, over seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from fairlevel.fronts.budgets import best_mse
from fairlevel.fronts.points import require_columns

_NEEDED = ("method", "seed", "mse", "dpvar")
_STEPS = 200  # budgets along the axis


class SeedBandDisplay:
    """The best error within each budget on DPVar: the median over seeds as a line, the middle half as a band.

    Parameters
    ----------
    bands : frame with columns method, budget, median, low, high; one row per method and budget
    labels : from method to the name in the legend; the order fixes the colours, so that a method looks the same in
        every panel
    """

    def __init__(self, bands: pd.DataFrame, labels: Mapping[str, str] | None = None) -> None:
        self.bands = bands
        self.labels = dict(labels or {})

    @classmethod
    def from_points(
        cls,
        points: pd.DataFrame,
        *,
        labels: Mapping[str, str] | None = None,
        feasible: float = 0.5,
        ax: Axes | None = None,
        **settings: Any,
    ) -> Self:
        """Draw models with columns method, seed, mse, dpvar. A method is drawn at a budget if at least the share
        ``feasible`` of the seeds has a model within it.
        """
        return cls(seed_bands(points, feasible), labels, **settings).plot(ax=ax)

    def frame(self) -> pd.DataFrame:
        """What is drawn."""
        return self.bands

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
        shown = list(self.bands["method"].unique())
        known = [*self.labels, *(method for method in shown if method not in self.labels)]
        for method in sorted(shown, key=known.index):
            band, number = self.bands[self.bands["method"] == method], known.index(method)
            colour, style = f"C{number % 10}", ("-", "--", ":")[number // 10 % 3]
            label = self.labels.get(method, method)
            budget = band["budget"].to_numpy()
            ax.step(budget, band["median"], where="post", label=label, color=colour, linestyle=style)
            ax.fill_between(budget, band["low"], band["high"], step="post", color=colour, alpha=0.12, linewidth=0)
        ax.set_xlabel("budget on DPVar")
        ax.set_ylabel("best mean squared error within the budget")
        ax.legend(frameon=False, fontsize=8)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


def seed_bands(points: pd.DataFrame, feasible: float = 0.5) -> pd.DataFrame:
    """Median and quartiles over seeds of min{mse : dpvar ≤ τ} on a grid of budgets τ over the range of DPVar."""
    require_columns(points, _NEEDED)
    budgets = np.linspace(points["dpvar"].min(), points["dpvar"].max(), _STEPS)
    seeds = points["seed"].unique()
    bands = []
    for method, own in points.groupby("method", sort=False):
        curves = np.stack([best_mse(own[own["seed"] == seed], budgets) for seed in seeds])
        enough = np.isfinite(curves).sum(axis=0) >= feasible * len(seeds)
        low, median, high = np.full((3, len(budgets)), np.nan)
        if enough.any():
            low[enough], median[enough], high[enough] = np.nanquantile(curves[:, enough], [0.25, 0.5, 0.75], axis=0)
        shown = {"method": method, "budget": budgets, "median": median, "low": low, "high": high}
        bands.append(pd.DataFrame(shown))
    return pd.concat(bands, ignore_index=True)

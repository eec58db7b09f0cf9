"""Figures of a study by matplotlib: bands over seeds, shares of datasets won."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairlevel.fronts.points import require_columns
from fairlevel_study.points import best_mse

_BUDGETS = 200  # along the axis of bands


@dataclass(frozen=True)
class NamedFigure:
    """A figure with the name of its files, its title and its text alternative."""

    name: str
    figure: Figure
    title: str
    alt: str

    def save(self, folder: Path) -> None:
        """Write it as PNG and SVG."""
        for ending in ("png", "svg"):
            self.figure.savefig(folder / f"{self.name}.{ending}", dpi=150)


def seed_bands(points: pd.DataFrame, feasible: float = 0.5) -> pd.DataFrame:
    """Median and quartiles over seeds of min{mse : dpvar ≤ τ} on a grid of budgets τ over the range of DPVar, for
    points with columns method, seed, mse, dpvar; missing where fewer than the share ``feasible`` of the seeds have a
    model within the budget.
    """
    require_columns(points, ("method", "seed", "mse", "dpvar"))
    budgets = np.linspace(points["dpvar"].min(), points["dpvar"].max(), _BUDGETS)
    seeds = points["seed"].unique()
    bands = []
    for method, of_method in points.groupby("method", sort=False):
        curves = np.stack([best_mse(of_method[of_method["seed"] == seed], budgets) for seed in seeds])
        enough = np.isfinite(curves).sum(axis=0) >= feasible * len(seeds)
        low, median, high = np.full((3, len(budgets)), np.nan)
        if enough.any():
            low[enough], median[enough], high[enough] = np.nanquantile(curves[:, enough], [0.25, 0.5, 0.75], axis=0)
        columns = {"method": method, "budget": budgets, "median": median, "low": low, "high": high}
        bands.append(pd.DataFrame(columns))
    return pd.concat(bands, ignore_index=True)


def draw_bands(ax: Axes, bands: pd.DataFrame, labels: Mapping[str, str]) -> None:
    """The best error within each budget as :func:`seed_bands` gives it: the median as a line, the middle half as a
    band. ``labels`` maps methods to what people read; its order fixes the colours.
    """
    for number, (method, label) in enumerate(labels.items()):
        band = bands[bands["method"] == method]
        if band.empty:
            continue
        colour, dashes, budget = f"C{number % 10}", ("-", "--", ":")[number // 10 % 3], band["budget"].to_numpy()
        ax.step(budget, band["median"], where="post", label=label, color=colour, linestyle=dashes)
        ax.fill_between(budget, band["low"], band["high"], step="post", color=colour, alpha=0.12, linewidth=0)
    ax.set_xlabel("budget on DPVar")
    ax.set_ylabel("best mean squared error within the budget")
    ax.legend(frameon=False, fontsize=8)


def draw_wins(ax: Axes, shares: pd.DataFrame, labels: Mapping[str, str]) -> None:
    """Share of datasets won, one line per method, with an interval for each budget: columns budget, method, share, low,
    high; one row per budget and method.
    """
    require_columns(shares, ("budget", "method", "share", "low", "high"))
    methods, budgets = list(shares["method"].unique()), list(shares["budget"].unique())
    lines = np.arange(len(methods))
    ax.hlines(lines[:-1] + 0.5, 0, 1, color="0.9", linewidth=0.8)
    for number, budget in enumerate(budgets):
        within = shares[shares["budget"] == budget].set_index("method").reindex(methods)
        share, low, high = within[["share", "low", "high"]].to_numpy(dtype=np.float64).T
        height = lines + 0.22 * (number - (len(budgets) - 1) / 2)
        error = np.stack([share - low, high - share]).clip(min=0)
        ax.errorbar(share, height, xerr=error, fmt="osD^v"[number % 5], markersize=4, elinewidth=1, label=budget)
    ax.set_yticks(lines, [labels.get(method, method) for method in methods])
    ax.set_ylim(len(methods) - 0.5, -0.5)
    ax.set_xlim(-0.01, 1)
    ax.set_xlabel("share of datasets won, with a 95 % interval")
    ax.legend(title="budget on DPVar", frameon=False, fontsize=8, title_fontsize=8, loc="center right")

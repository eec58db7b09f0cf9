"""Figures of a study by matplotlib: fronts, bands over seeds, shares of datasets won."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairlevel.fronts.budgets import best_mse
from fairlevel.fronts.points import require_columns

_BUDGETS = 200  # along the axis of bands
_COLUMNS = 4  # panels side by side


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


def draw_fronts(ax: Axes, points: pd.DataFrame, labels: Mapping[str, str]) -> None:
    """One curve per method through its models, DPVar to the right, error upwards: points with columns method, mse,
    dpvar. ``labels`` maps methods to what people read; its order fixes the colours.
    """
    require_columns(points, ("method", "mse", "dpvar"))
    for number, method in _numbered(points["method"], labels):
        front = points[points["method"] == method].sort_values("dpvar")
        style = {"color": f"C{number % 10}", "marker": "osv^D"[number // 10 % 5], "markersize": 3, "linewidth": 1}
        ax.plot(front["dpvar"], front["mse"], label=labels.get(method, method), **style)
    ax.set_xlabel("DPVar on test rows")
    ax.set_ylabel("mean squared error on test rows")


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
    band.
    """
    for number, method in _numbered(bands["method"], labels):
        band = bands[bands["method"] == method]
        colour, budget = f"C{number % 10}", band["budget"].to_numpy()
        style = {"color": colour, "linestyle": ("-", "--", ":")[number // 10 % 3]}
        ax.step(budget, band["median"], where="post", label=labels.get(method, method), **style)
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


def panels(datasets: Sequence[str], draw: Callable[[Axes, str], object]) -> Figure:
    """One panel per dataset, one legend for all."""
    columns = min(_COLUMNS, len(datasets))
    lines = -(-len(datasets) // columns)
    figure = Figure(figsize=(4 * columns, 3.1 * lines + 0.4), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False)
    handles: dict[str, Artist] = {}
    for axis, name in zip(axes.flat, datasets, strict=False):
        draw(axis, name)
        axis.set_title(name, fontsize=9)
        axis.tick_params(labelsize=7)
        axis.set_xlabel("")
        axis.set_ylabel("")
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
        if axis.get_legend() is not None:
            axis.get_legend().remove()
    for axis in axes.flat[len(datasets) :]:
        axis.axis("off")
    figure.supxlabel("DPVar", fontsize=9)
    figure.supylabel("mean squared error", fontsize=9)
    figure.legend(
        list(handles.values()), list(handles), loc="outside upper center", ncols=min(9, len(handles)), fontsize=8
    )
    return figure


def _numbered(methods: pd.Series, labels: Mapping[str, str]) -> list[tuple[int, str]]:
    """The methods that occur, each with its number among the labelled ones, in that order."""
    present = list(methods.unique())
    known = [*labels, *(method for method in present if method not in labels)]
    return [(number, method) for number, method in enumerate(known) if method in present]

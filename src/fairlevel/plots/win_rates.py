"""How often each method wins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from fairlevel.fronts.points import require_columns

_NEEDED = ("budget", "method", "share", "low", "high")


class WinRateDisplay:
    """Share of datasets won, one line per method, with an interval for each budget.

    Parameters
    ----------
    shares : frame with columns budget, method, share, low, high; one row per budget and method
    labels : from method to the name shown
    """

    def __init__(self, shares: pd.DataFrame, labels: Mapping[str, str] | None = None) -> None:
        require_columns(shares, _NEEDED)
        self.shares = shares
        self.labels = dict(labels or {})

    @classmethod
    def from_frame(cls, shares: pd.DataFrame, *, ax: Axes | None = None, **settings: Any) -> Self:
        """Draw a table of shares."""
        return cls(shares, **settings).plot(ax=ax)

    def frame(self) -> pd.DataFrame:
        """What is drawn."""
        return self.shares

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        methods, budgets = list(self.shares["method"].unique()), list(self.shares["budget"].unique())
        if ax is None:
            _, ax = plt.subplots(figsize=(7, 1.2 + 0.3 * len(methods)), layout="constrained")
        lines = np.arange(len(methods))
        ax.hlines(lines[:-1] + 0.5, 0, 1, color="0.9", linewidth=0.8)
        for number, budget in enumerate(budgets):
            own = self.shares[self.shares["budget"] == budget].set_index("method").reindex(methods)
            share, low, high = own[["share", "low", "high"]].to_numpy(dtype=np.float64).T
            place = lines + 0.22 * (number - (len(budgets) - 1) / 2)
            error = np.stack([share - low, high - share]).clip(min=0)
            ax.errorbar(share, place, xerr=error, fmt="osD^v"[number % 5], markersize=4, elinewidth=1, label=budget)
        ax.set_yticks(lines, [self.labels.get(method, method) for method in methods])
        ax.set_ylim(len(methods) - 0.5, -0.5)
        ax.set_xlim(-0.01, 1)
        ax.set_xlabel("share of datasets won, with a 95 % interval")
        ax.legend(title="budget on DPVar", frameon=False, fontsize=8, title_fontsize=8, loc="center right")
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

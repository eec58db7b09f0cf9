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
    """Share of datasets won under each budget as bars, with intervals.

    Parameters
    ----------
    shares : frame with columns budget, method, share, low, high; one row per budget and method
    labels : from method to the name shown; the order fixes the colours
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
        if ax is None:
            _, ax = plt.subplots(figsize=(8, 4), layout="constrained")
        methods, budgets = list(self.shares["method"].unique()), list(self.shares["budget"].unique())
        known = [*self.labels, *(method for method in methods if method not in self.labels)]
        width = 0.85 / max(1, len(methods))
        for number, method in enumerate(methods):
            own = self.shares[self.shares["method"] == method].set_index("budget").reindex(budgets)
            share = own["share"].to_numpy(dtype=np.float64)
            where = np.arange(len(budgets)) + (number - (len(methods) - 1) / 2) * width
            error = np.abs(np.stack([share - own["low"].to_numpy(), own["high"].to_numpy() - share]))
            colour = f"C{known.index(method) % 10}"
            ax.bar(where, share, width, color=colour, label=self.labels.get(method, method))
            ax.errorbar(where, share, np.nan_to_num(error), fmt="none", ecolor="0.3", elinewidth=0.8, capsize=2)
        ax.set_xticks(np.arange(len(budgets)), [str(budget).capitalize() for budget in budgets])
        ax.set_xlabel("budget on DPVar")
        ax.set_ylabel("share of datasets won")
        ax.set_ylim(0, 1)
        ax.legend(frameon=False, fontsize=8, ncols=2)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

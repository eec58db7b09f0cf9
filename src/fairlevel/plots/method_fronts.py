"""The fronts of several methods on one dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from fairlevel.fronts.points import require_columns

_NEEDED = ("method", "mse", "dpvar")


class MethodFrontsDisplay:
    """One curve per method through its models: DPVar to the right, error upwards.

    Parameters
    ----------
    points : frame with columns method, mse, dpvar
    labels : from method to the name shown; the order fixes the colours
    """

    def __init__(self, points: pd.DataFrame, labels: Mapping[str, str] | None = None) -> None:
        require_columns(points, _NEEDED)
        self.points = points
        self.labels = dict(labels or {})

    @classmethod
    def from_points(cls, points: pd.DataFrame, *, ax: Axes | None = None, **settings: Any) -> Self:
        """Draw models of several methods."""
        return cls(points, **settings).plot(ax=ax)

    def frame(self) -> pd.DataFrame:
        """What is drawn."""
        return self.points

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
        known = [*self.labels, *(name for name in self.points["method"].unique() if name not in self.labels)]
        for method in sorted(self.points["method"].unique(), key=known.index):
            own = self.points[self.points["method"] == method].sort_values("dpvar")
            number = known.index(method)
            colour, marker = f"C{number % 10}", "osv^D"[number // 10 % 5]
            label = self.labels.get(method, method)
            ax.plot(own["dpvar"], own["mse"], marker=marker, markersize=3, linewidth=1, color=colour, label=label)
        ax.set_xlabel("DPVar on test rows")
        ax.set_ylabel("mean squared error on test rows")
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

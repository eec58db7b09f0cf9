"""A front of models: error against disparity."""

from __future__ import annotations

from typing import Any, Self

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from fairlevel.fronts.points import require_columns


class FrontDisplay:
    """Models as points: DPVar to the right, error upwards; better models are closer to the lower left corner.

    Parameters
    ----------
    points : frame with columns mse and dpvar; dpvar_low and dpvar_high add horizontal intervals, label adds text
    unit : name of the squared unit, shown on the axes
    """

    def __init__(self, points: pd.DataFrame, unit: str = "y²") -> None:
        require_columns(points, ("mse", "dpvar"))
        self.points = points.sort_values("dpvar", ignore_index=True)
        self.unit = unit

    @classmethod
    def from_frame(cls, points: pd.DataFrame, *, ax: Axes | None = None, **settings: Any) -> Self:
        """Draw a frame of models."""
        return cls(points, **settings).plot(ax=ax)

    def frame(self) -> pd.DataFrame:
        """What is drawn."""
        return self.points

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
        points = self.points
        if {"dpvar_low", "dpvar_high"} <= set(points.columns):
            ax.hlines(points["mse"], points["dpvar_low"], points["dpvar_high"], color="C0", alpha=0.3, linewidth=4)
        ax.plot(points["dpvar"].clip(lower=0), points["mse"], marker="o", color="C0")
        if "label" in points:
            for _, point in points.iterrows():
                where = (max(point["dpvar"], 0), point["mse"])
                ax.annotate(str(point["label"]), where, textcoords="offset points", xytext=(6, 6), fontsize=8)
        ax.set_xlabel(f"DPVar: variance of the average prediction across profiles [{self.unit}]")
        ax.set_ylabel(f"mean squared error [{self.unit}]")
        ax.margins(y=0.1)
        ax.set_xlim(left=0)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

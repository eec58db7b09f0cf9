"""The average prediction along one attribute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from fairlevel.exceptions import InvalidType
from fairlevel.metrics.profile import MeanProfile, mean_profile


class MeanProfileDisplay:
    """One curve of E[f(X) | A_k = a] with a band for each prediction, or bars where the attribute has few values.

    Parameters
    ----------
    profiles : from label to profile
    attribute_name : label of the horizontal axis
    """

    def __init__(self, profiles: Mapping[str, MeanProfile], attribute_name: str = "attribute") -> None:
        self.profiles = profiles
        self.attribute_name = attribute_name

    @classmethod
    def from_predictions(
        cls,
        predictions: Mapping[str, Any],
        *,
        attribute: Any,
        attribute_name: str = "attribute",
        ax: Axes | None = None,
    ) -> Self:
        """Compute and draw the profiles of several predictions, {label: predictions}, along one attribute."""
        if not isinstance(predictions, Mapping):
            raise InvalidType(
                f"predictions is of type {type(predictions).__name__}; a dict from labels to predictions is needed, "
                "such as {'my model': model.predict(X)}."
            )
        profiles = {label: mean_profile(values, attribute=attribute) for label, values in predictions.items()}
        return cls(profiles, attribute_name).plot(ax=ax)

    def frame(self) -> pd.DataFrame:
        """What is drawn, one row per point."""
        parts = [
            pd.DataFrame({"label": label, "at": p.at, "mean": p.mean, "low": p.low, "high": p.high})
            for label, p in self.profiles.items()
        ]
        return pd.concat(parts, ignore_index=True)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure."""
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
        for number, (label, profile) in enumerate(self.profiles.items()):
            if profile.levels:
                self._draw_levels(ax, label, profile, number)
                continue
            (line,) = ax.plot(profile.at, profile.mean, label=label, linewidth=2)
            ax.fill_between(profile.at, profile.low, profile.high, color=line.get_color(), alpha=0.18, linewidth=0)
            ax.axhline(profile.overall, color=line.get_color(), linewidth=0.8, linestyle=":")
        ax.set_xlabel(self.attribute_name)
        ax.set_ylabel("average prediction")
        ax.legend(frameon=False)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

    def _draw_levels(self, ax: Axes, label: str, profile: MeanProfile, number: int) -> None:
        """Bars from the average of all rows, with intervals."""
        width, base = 0.8 / len(self.profiles), profile.overall
        where = np.arange(len(profile.levels)) - 0.4 + width * (number + 0.5)
        error = np.stack([profile.mean - profile.low, profile.high - profile.mean])
        colour = f"C{number}"
        ax.bar(where, profile.mean - base, width, bottom=base, color=colour, alpha=0.75, label=label)
        ax.errorbar(where, profile.mean, error, fmt="none", ecolor="0.3", elinewidth=1, capsize=2)
        ax.axhline(base, color=colour, linewidth=0.8, linestyle=":")
        ax.set_xticks(np.arange(len(profile.levels)), list(profile.levels))

"""Fronts and bands of every dataset of a study: as figures, and as charts of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairlevel.plots.method_fronts import MethodFrontsDisplay
from fairlevel.plots.seed_bands import SeedBandDisplay, seed_bands
from fairlevel.report.charts.methods import band_panel, front_panel, method_legend
from fairlevel.report.page import Charts, Legend, Picker, PickerEntry

_FRONTS = "Fronts on test rows, first seed"
_BANDS = "Smallest MSE within a budget: median and quartiles over seeds"
_COLUMNS = 4  # panels side by side


@dataclass(frozen=True)
class Drawn:
    """A figure with the name of its files, its title and its text alternative."""

    name: str
    figure: Figure
    title: str
    alt: str


class DatasetPanels:
    """Fronts of the first seed, and bands over seeds, one panel per dataset: as figures, and as charts of the page."""

    def __init__(self, points: pd.DataFrame, labels: Mapping[str, str]) -> None:
        self.shown = labels
        first = points[points["seed"] == points.groupby("dataset")["seed"].transform("min")]
        self.datasets = sorted(points["dataset"].unique())
        self.first = {name: _of(first, name) for name in self.datasets}
        self.bands = {name: seed_bands(_of(points, name)) for name in self.datasets}

    def drawn(self) -> Iterator[Drawn]:
        """Two figures with all datasets."""
        labels, count = self.shown, len(self.datasets)
        fronts = _panels(self.datasets, lambda name, ax: MethodFrontsDisplay(self.first[name], labels).plot(ax=ax))
        alt = f"Test MSE against DPVar, one curve per method, on {count} datasets"
        yield Drawn("fronts", fronts, _FRONTS, alt)
        bands = _panels(self.datasets, lambda name, ax: SeedBandDisplay(self.bands[name], labels).plot(ax=ax))
        alt = f"Smallest test MSE within each budget, median and quartiles over seeds, on {count} datasets"
        yield Drawn("seed-bands", bands, _BANDS, alt)

    def blocks(self) -> tuple[Legend, Picker]:
        """The same for the page: a legend, and a list of datasets to choose from."""
        choices = [
            PickerEntry(
                name,
                (
                    Charts(
                        (
                            front_panel(f"{name}: fronts of the first seed", self.first[name], self.shown),
                            band_panel(f"{name}: median and quartiles over seeds", self.bands[name], self.shown),
                        )
                    ),
                ),
            )
            for name in self.datasets
        ]
        return Legend(method_legend(self.shown)), Picker("Dataset", tuple(choices))


def _panels(datasets: Sequence[str], draw: Callable[[str, Axes], object]) -> Figure:
    """One panel per dataset, one legend for all."""
    columns = min(_COLUMNS, len(datasets))
    lines = -(-len(datasets) // columns)
    figure = Figure(figsize=(4 * columns, 3.1 * lines + 0.4), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False)
    handles: dict[str, Artist] = {}
    for axis, name in zip(axes.flat, datasets, strict=False):
        draw(name, axis)
        axis.set_title(name, fontsize=9)
        axis.tick_params(labelsize=7)
        axis.set_xlabel("")
        axis.set_ylabel("")
        handles |= {
            label: handle
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
            if label not in handles
        }
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


def _of(points: pd.DataFrame, dataset: str) -> pd.DataFrame:
    return points[points["dataset"] == dataset]

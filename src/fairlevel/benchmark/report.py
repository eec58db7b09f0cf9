"""The report of a study: a page, figures and tables from its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairlevel.benchmark.analysis.budgets import DEFINITIONS, budget_table
from fairlevel.benchmark.analysis.comparisons import COMPARISONS, compared_rows, complete, points_on_test
from fairlevel.benchmark.analysis.construction import attribute_table
from fairlevel.benchmark.analysis.informative import validation_ranges
from fairlevel.benchmark.analysis.regrets import regret_table
from fairlevel.benchmark.analysis.wins import win_rates
from fairlevel.benchmark.methods import METHODS, PAPER_METHODS
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.budgets import SHARES
from fairlevel.plots.method_fronts import MethodFrontsDisplay
from fairlevel.plots.seed_bands import SeedBandDisplay, seed_bands
from fairlevel.plots.win_rates import WinRateDisplay
from fairlevel.report.charts.methods import band_panel, front_panel, method_legend, wins_chart
from fairlevel.report.page import Chart, Charts, Folded, Legend, Page, Section, TableBlock
from fairlevel.report.provenance import Provenance

LABELS = {name: method.label for name, method in METHODS.items()}
_FRONTS = "Fronts on test rows, first seed"
_BANDS = "Smallest MSE within a budget: median and quartiles over seeds"
_COLUMNS = 4  # panels side by side
_AT_ONCE = 12  # datasets on the page; the others are behind a line to click on


@dataclass(frozen=True)
class Drawn:
    """A figure with the name of its files, its title and its text alternative."""

    name: str
    figure: Figure
    title: str
    alt: str


@dataclass(frozen=True)
class Report:
    """The analysis of a study: figures, tables by name, and the page."""

    figures: tuple[Drawn, ...]
    tables: dict[str, pd.DataFrame]
    page: Page

    def save_figures(self, folder: Path) -> None:
        """Save each figure as PNG and SVG, each table as CSV."""
        for drawn in self.figures:
            for ending in ("png", "svg"):
                drawn.figure.savefig(folder / f"{drawn.name}.{ending}", dpi=150)
        for name, table in self.tables.items():
            table.to_csv(folder / f"{name}.csv", index=False)


def build_report(rows: pd.DataFrame) -> Report:
    """Analyse rows; methods are compared on the datasets that have a trade-off."""
    methods = [name for name in METHODS if name in set(rows["method"])]
    used = complete(rows, methods)
    if used.empty:
        raise InvalidInput("No dataset and seed has been run with every method; finish the run, then build the report.")
    ranges = validation_ranges(used)
    wide = list(ranges.index[ranges["informative"]])
    compared = used[used["dataset"].isin(wide)] if wide else used
    comparisons = [_Comparison(compared, name, methods) for name in COMPARISONS]
    paper = [name for name in PAPER_METHODS if name in methods]
    if len(paper) > 1:
        comparisons.insert(0, _Comparison(compared, "single", paper, "single models of the paper's methods only"))
    figures = [comparison.drawn for comparison in comparisons]
    by_default = compared_rows(used, methods, COMPARISONS["default"].combiner_of)
    by_dataset = _ByDataset(points_on_test(by_default), methods)
    fronts = list(by_dataset.drawn())
    within = budget_table(by_default, methods).rename(columns={"limit": "DPVar up to"})
    numbers = TableBlock.of(
        _named(within), "Smallest MSE within each budget", "median, smallest and largest over seeds"
    )
    sections = [
        _overview(rows, used, ranges, methods),
        *(comparison.section() for comparison in comparisons),
        _definitions(compared, methods),
        Section(
            "Fronts by dataset",
            ("Models selected on validation rows, measured on test rows; mixtures for auto, single models otherwise.",),
            (*by_dataset.charts(), Folded(numbers.title, numbers)),
        ),
    ]
    tables = {"datasets": _datasets(used, ranges)}
    for comparison in comparisons:
        tables |= {f"wins-{comparison.stem}": comparison.wins, f"regret-{comparison.stem}": comparison.regrets}
    protocols = ", ".join(sorted(used["protocol"].unique()))
    summary = (
        f"{used['dataset'].nunique()} datasets, {used['seed'].nunique()} seeds, {len(methods)} methods; protocol "
        f"{protocols}; fairlevel {', '.join(sorted(used['version'].unique()))}. A method wins a dataset where its "
        f"test error is smallest within a budget on DPVar. Compared are {comparisons[-2].title}. "
        f"{comparisons[-2].drawn.alt}."
    )
    provenance = Provenance(
        rows_used=None,
        settings={
            "protocol": protocols,
            "seeds": ", ".join(map(str, sorted(used["seed"].unique()))),
            "run with": ", ".join(f"fairlevel {version}" for version in sorted(used["version"].unique())),
        },
        method=(
            "Every model was trained on training rows, selected on validation rows and measured on test rows of the "
            "same split.",
        ),
    )
    page = Page("Benchmark: level predictions", summary, tuple(sections), provenance=provenance)
    return Report((*figures, *fronts), tables, page)


class _Comparison:
    """Wins and regrets of some methods on the same datasets."""

    def __init__(self, rows: pd.DataFrame, name: str, methods: Sequence[str], title: str | None = None) -> None:
        default_title, combiner_of = COMPARISONS[name]
        self.stem = name if title is None else f"{name}-paper"
        self.title, self.methods = title or default_title, list(methods)
        self.points = points_on_test(compared_rows(rows, methods, combiner_of))
        self.wins = win_rates(self.points, methods)
        self.regrets = regret_table(self.points, methods)

        figure = Figure(figsize=(8, 4), layout="constrained")
        WinRateDisplay.from_frame(self.wins, labels=LABELS, ax=figure.subplots())
        self.drawn = Drawn(f"wins-{self.stem}", figure, f"Share of datasets won: {self.title}", _win_summary(self.wins))

    def section(self) -> Section:
        """One section of the page: a picture and two tables."""
        title = f"{self.drawn.title}; lines are 95 % bootstrap intervals over datasets"
        picture = wins_chart(title, self.wins, {name: LABELS[name] for name in self.methods}, self.drawn.alt)
        caption = "share of datasets won (95 % interval) [share of (dataset, seed) pairs won]"
        tables = (
            TableBlock.of(_win_cells(self.wins), "Wins", caption),
            TableBlock.of(
                _named(self.regrets),
                "Regret and hypervolume",
                "regret: distance to the smallest MSE of any method, as a share of what can be gained; lower is better",
            ),
        )
        return Section(f"Wins: {self.title}", (), (picture, *tables))


def _overview(rows: pd.DataFrame, used: pd.DataFrame, ranges: pd.DataFrame, methods: Sequence[str]) -> Section:
    wide = int(ranges["informative"].sum())
    trained = used[used["combiner"] == "best"]
    diverged = int((trained["status"] == "diverged").sum())
    dropped = rows.drop_duplicates(["dataset", "seed"]).shape[0] - used.drop_duplicates(["dataset", "seed"]).shape[0]
    paragraphs = [
        f"{len(trained):,} models were trained, {diverged:,} diverged. {wide} of {len(ranges)} datasets have a range "
        "of at least 0.1 in both MSE and DPVar on validation rows; methods are compared on those"
        + ("." if wide else ", or on all datasets if there is none, as here."),
        "MSE and DPVar are in squared standard deviations of the target. DPVar is the paper's cross-fitted diagnostic.",
    ]
    if dropped:
        paragraphs.append(f"{dropped} pairs of dataset and seed lack some method and are left out.")
    named = ", ".join(LABELS[name] for name in methods)
    paragraphs.append(f"Methods: {named}.")
    table = TableBlock.of(
        _datasets(used, ranges), "Datasets", "sets: number of different sets of sensitive attributes over the seeds"
    )
    return Section("What was run", tuple(paragraphs), (table,))


def _datasets(used: pd.DataFrame, ranges: pd.DataFrame) -> pd.DataFrame:
    table = attribute_table(used).merge(ranges.reset_index(), on="dataset")
    table["features"], table["attributes"] = table["features"].astype(int), table["attributes"].astype(int)
    table["informative"] = table["informative"].map({True: "yes", False: "no"})
    return table.rename(columns={"mse_val": "MSE range", "dpvar_val": "DPVar range"})


def _definitions(rows: pd.DataFrame, methods: Sequence[str]) -> Section:
    """Shares of datasets won under each definition of a budget."""
    points = points_on_test(compared_rows(rows, methods, COMPARISONS["default"].combiner_of))
    parts = []
    for definition in DEFINITIONS:
        table = win_rates(points, methods, definition).pivot(index="method", columns="budget", values="share")
        parts.append(table[list(SHARES)].add_suffix(f" ({definition})"))
    both = pd.concat(parts, axis=1).reindex(list(methods)).rename_axis("method").reset_index()
    caption = "range: smallest DPVar plus 25, 50, 75 % of its range; largest: 25, 50, 75 % of the largest DPVar"
    block = TableBlock.of(_named(both), "Share of datasets won under two definitions of a budget", caption)
    return Section("Does the definition of a budget matter?", (), (block,))


class _ByDataset:
    """Fronts of the first seed, and bands over seeds, one panel per dataset: as figures, and as charts of the page."""

    def __init__(self, points: pd.DataFrame, methods: Sequence[str]) -> None:
        self.shown = {name: LABELS[name] for name in methods}
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

    def charts(self) -> tuple[Legend | Charts, ...]:
        """The same for the page, the first datasets at once."""
        fronts = [front_panel(name, self.first[name], self.shown) for name in self.datasets]
        bands = [band_panel(name, self.bands[name], self.shown) for name in self.datasets]
        return Legend(method_legend(self.shown)), _some(fronts, _FRONTS), _some(bands, _BANDS)


def _some(charts: Sequence[Chart], title: str) -> Charts:
    more = tuple(charts[_AT_ONCE:])
    return Charts(tuple(charts[:_AT_ONCE]), more, f"Show {len(more)} more datasets" if more else "", title)


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


def _named(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(method=table["method"].map(LABELS))


def _win_cells(wins: pd.DataFrame) -> pd.DataFrame:
    """One row per method, one column per budget; a cell holds the share, its interval and the share of pairs."""

    def cell(row: pd.Series) -> str:
        if np.isnan(row["share"]):
            return "–"
        return f"{row['share']:.2f} ({row['low']:.2f}–\N{WORD JOINER}{row['high']:.2f}) [{row['pairs']:.2f}]"

    text = wins.assign(cell=wins.apply(cell, axis=1)).pivot(index="method", columns="budget", values="cell")
    order = list(dict.fromkeys(wins["method"]))
    return _named(text.reindex(order)[list(SHARES)].rename_axis("method").reset_index())


def _win_summary(wins: pd.DataFrame) -> str:
    """The chart of win rates in one sentence."""
    parts = []
    for budget in SHARES:
        here = wins[wins["budget"] == budget].dropna(subset="share")
        if not here.empty:
            first = here.sort_values("share", ascending=False, kind="stable").iloc[0]
            parts.append(f"{budget}: {LABELS[first['method']]} wins {first['share']:.0%}")
    return "Share of datasets won; " + "; ".join(parts)

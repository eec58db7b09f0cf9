"""Sections of the report of a study: comparisons, the paper's claims, budgets, costs, prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fairlevel.report.numbers import percent
from fairlevel.report.page import Charts, Folded, Notes, Section, TableBlock
from fairlevel_study.analysis.comparison import (
    COMPARISONS,
    FIXED_SHARES,
    compared_rows,
    flipped,
    gain_table,
    points_on_test,
    regret_table,
    win_rates,
    winners,
    with_shares,
)
from fairlevel_study.analysis.tables import cost_table, informative_claim, price_table, regret_claims, win_claims
from fairlevel_study.catalogue import catalogue
from fairlevel_study.datasets import NAMED
from fairlevel_study.methods import LABELS, REFERENCES
from fairlevel_study.pages.charts import band_panel, front_panel, method_legend, wins_chart
from fairlevel_study.pages.figures import NamedFigure, draw_wins, seed_bands
from fairlevel_study.points import SHARES

GAIN = "gain over shrinking, same learner"
SMALLEST_R2 = 0.01
"""Below it there is nothing to lose, and shares of it say nothing."""


def named(table: pd.DataFrame) -> pd.DataFrame:
    """A table with the methods' labels in place of their names."""
    return table.assign(method=table["method"].map(LABELS))


class Compared:
    """Wins, regrets and gains of some methods on the same datasets."""

    def __init__(
        self, rows: pd.DataFrame, name: str, methods: Sequence[str], title: str | None = None, ending: str = ""
    ) -> None:
        default_title, self._combiner_of = COMPARISONS[name]
        self.stem, self.title, self.methods = name + ending, title or default_title, list(methods)
        self.points = self.points_of(rows)
        self.wins = win_rates(self.points, methods)
        self.regrets = regret_table(self.points, methods)
        self.gains = gain_table(self.points, methods, _references(rows))
        figure = Figure(figsize=(7, 1.2 + 0.3 * len(methods)), layout="constrained")
        draw_wins(figure.subplots(), self.wins, LABELS)
        heading = f"Share of datasets won: {self.title}"
        self.figure = NamedFigure(f"wins-{self.stem}", figure, heading, _in_words(self.wins))

    def points_of(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The compared models on test rows."""
        return points_on_test(compared_rows(rows, self.methods, self._combiner_of))

    def section(self) -> Section:
        """A picture and two tables."""
        title = f"{self.figure.title}; lines are 95 % bootstrap intervals over datasets"
        picture = wins_chart(title, self.wins, {name: LABELS[name] for name in self.methods}, self.figure.alt)
        caption = (
            "share of datasets won (95 % interval) [share of (dataset, seed) pairs won]; gain: how much smaller MSE is "
            "than that of the plain learner of the same kind, shrunk to the same budget, mean over budgets"
        )
        gain = self.gains.set_index("method")["mean"]
        wins = _win_cells(self.wins).assign(**{GAIN: [percent(gain[name]) for name in self.methods]})
        regrets = self.regrets.assign(**{GAIN: self.regrets["method"].map(gain).map(percent)})
        tables = (
            TableBlock.of(named(wins), "Wins", caption),
            TableBlock.of(
                named(regrets),
                "Regret and hypervolume",
                "regret: distance to the smallest MSE of any method, as a share of what can be gained; lower is better",
            ),
        )
        return Section(f"Wins: {self.title}", (), (picture, *tables))


def datasets_section(points: pd.DataFrame, methods: Sequence[str], within: pd.DataFrame) -> Section:
    """Fronts of the first seed, and bands over seeds, of each dataset behind a line to click on; ``within`` has the
    smallest errors within each budget.
    """
    labels = {name: LABELS[name] for name in methods}
    first = points[points["seed"] == points.groupby("dataset")["seed"].transform("min")]
    folded = []
    for name in sorted(points["dataset"].unique()):
        front, bands = (rows[rows["dataset"] == name] for rows in (first, points))
        left = front_panel(f"{name}: fronts of the first seed", front, labels)
        right = band_panel(f"{name}: median and quartiles over seeds", seed_bands(bands), labels)
        folded.append(Folded(name, (Charts((left, right), legend=method_legend(labels)),)))
    text = (
        "Models selected on validation rows, measured on test rows; mixtures for auto and for plain models, single "
        "models otherwise."
    )
    numbers = TableBlock.of(named(within), "Smallest MSE within each budget", "median, smallest and largest over seeds")
    return Section("Fronts by dataset", (text,), (*folded, Folded(numbers.title, (numbers,))))


def claims_section(paper: Compared, ranges: pd.DataFrame) -> Section:
    """Each claim of the paper beside what the rows say."""
    claims = [
        *win_claims(paper.points, paper.methods),
        *regret_claims(paper.points, paper.methods),
        informative_claim(int(ranges["informative"].sum()), len(ranges)),
    ]
    text = (
        "A lead whose 95 % interval over datasets includes 0 cannot be told; a number is reproduced within the "
        "tolerance beside it. The paper prints no numbers for its win rates in the text and does not define regret; "
        "ours is in docs/protocol.md. Wins within a budget on DPVar cannot show that a method is fair: any model meets "
        "every such budget by being shrunk towards its mean. The column on the gain over shrinking says how much "
        "better a method is than that."
    )
    return Section(
        "What the paper says, and what came out", (text,), (TableBlock.of(pd.DataFrame(claims), "Claims of the paper"),)
    )


def advice_section(single: Compared, stacked: Compared, costs: pd.DataFrame) -> Section:
    """What these rows advise, in three sentences."""
    mixed, alone = (compared.regrets.set_index("method")["mean"] for compared in (stacked, single))
    best, model = str(mixed.idxmin()), str(alone.drop(list(REFERENCES), errors="ignore").idxmin())
    gain = float(stacked.gains.set_index("method")["mean"][best])
    seconds = costs.set_index("method")["seconds"]
    over = f", {percent(gain)} less error than its plain learner shrunk" if np.isfinite(gain) else ""
    if best in REFERENCES:
        over = "; shrinking lowers DPVar, but not its share of Var f, so it meets no budget in shares"
    quickest = str(seconds.fillna(np.inf).idxmin())
    took = ", ".join(f"{LABELS[name]} {seconds[name]:.0f}" for name in dict.fromkeys((best, model, quickest)))
    sentences = (
        f"Mixtures of {LABELS[best]} have the smallest mean regret, {mixed[best]:.3f}{over}.",
        f"Of single models with a penalty, {LABELS[model]} has the smallest, {alone[model]:.3f}{_shrunk(alone)}.",
        f"Median seconds per dataset and seed: {took}; the last is the quickest of all methods.",
    )
    return Section("What we would use", (), (Notes(sentences),))


def _shrunk(regret: pd.Series) -> str:
    """How the plain learners do, which no sentence on single models may leave out."""
    plain = [f"{LABELS[name]} {regret[name]:.3f}" for name in REFERENCES if name in regret.index]
    return f"; without any penalty: {' and '.join(plain)}" if plain else ""


def definitions_section(rows: pd.DataFrame, methods: Sequence[str]) -> Section:
    """Shares of datasets won under each definition of a budget, and where the winner changes."""
    combiner_of = COMPARISONS["default"].combiner_of
    compared = compared_rows(with_shares(rows), methods, combiner_of)
    by_range, by_share = points_on_test(compared), points_on_test(compared, "share_test")
    kinds = {"range": (by_range, "range"), "largest": (by_range, "largest"), "share": (by_share, "fixed")}
    parts, first = [], {}
    for name, (points, definition) in kinds.items():
        table = win_rates(points, methods, definition).pivot(index="method", columns="budget", values="share")
        parts.append(table[list(SHARES)].add_suffix(f" ({name})"))
        first[name] = winners(points, methods, definition)
    wins = pd.concat(parts, axis=1).reindex(list(methods)).rename_axis("method").reset_index()
    limits = ", ".join(f"{100 * share:g}" for share in FIXED_SHARES)
    caption = (
        "range: smallest DPVar plus 25, 50, 75 % of its range; largest: 25, 50, 75 % of the largest DPVar; share: "
        f"debiased DPVar of at most {limits} % of the variance of the predictions, which shrinking cannot meet"
    )
    regrets = regret_table(by_share, methods, "fixed").drop(columns="hypervolume")
    gains = gain_table(by_share, methods, by_share, "fixed").set_index("method")["mean"]
    regrets = regrets.assign(**{GAIN: regrets["method"].map(gains).map(percent)})
    blocks = (
        TableBlock.of(named(wins), "Share of datasets won under three definitions of a budget", caption),
        TableBlock.of(named(regrets), "Regret where budgets are shares", f"tight, mid, loose: {limits} %"),
        Notes(tuple(_flips(first["range"], first[name], name) for name in ("largest", "share"))),
    )
    return Section("Does the definition of a budget matter?", (), blocks)


def costs_section(rows: pd.DataFrame, methods: Sequence[str]) -> Section:
    """Time, memory and divergence by method."""
    table = cost_table(rows, methods)
    diverged = [percent(share) for share in table["diverged"]]
    caption = "a task is one method on one dataset and seed; tasks shared the machine"
    block = TableBlock.of(named(table.assign(diverged=diverged)), "Time, memory and models", caption)
    return Section("What it costs", (), (block,))


def prices_section(points: pd.DataFrame) -> Section:
    """What halving the disparity costs, dataset by dataset, in words."""
    sentences = [_price(row) for row in price_table(points).to_dict("records")]
    text = "Mixtures of auto on test rows, median over seeds; DPVar is the paper's diagnostic."
    return Section("The price of half the disparity", (text,), (Notes(tuple(sentences)),))


def _references(rows: pd.DataFrame) -> pd.DataFrame:
    """The plain models on test rows, mixed with the constant."""
    return points_on_test(compared_rows(rows, REFERENCES, COMPARISONS["single"].combiner_of))


def _price(row: Mapping[Any, Any]) -> str:
    slug = str(row["dataset"]).removesuffix(NAMED)
    entry = catalogue().get(slug)
    across = f" across {', '.join(entry.sensitive)}" if entry and str(row["dataset"]).endswith(NAMED) else ""
    cost, accuracy = float(row["cost"]), float(row["R2"])
    if not np.isfinite(cost) or accuracy < SMALLEST_R2:
        return f"{slug}: no model is clearly better than the mean (R² {accuracy:.2f})."
    return f"{slug}: halving the disparity{across} costs {percent(max(cost, 0.0), 0)} of an R² of {accuracy:.2f}."


def _flips(one: pd.Series, other: pd.Series, name: str) -> str:
    changes = flipped(one, other)
    where = ", ".join(f"{row.dataset} ({row.budget})" for row in changes.itertuples())
    return f"Range against {name}: the winner changes in {len(changes)} of {len(one)} cases" + (
        f": {where}." if where else "."
    )


def _win_cells(wins: pd.DataFrame) -> pd.DataFrame:
    """One row per method, one column per budget; a cell holds the share, its interval and the share of pairs."""

    def cell(row: pd.Series) -> str:
        if np.isnan(row["share"]):
            return "–"
        return f"{row['share']:.2f} ({row['low']:.2f}–\N{WORD JOINER}{row['high']:.2f}) [{row['pairs']:.2f}]"

    text = wins.assign(cell=wins.apply(cell, axis=1)).pivot(index="method", columns="budget", values="cell")
    return text.reindex(list(dict.fromkeys(wins["method"])))[list(SHARES)].rename_axis("method").reset_index()


def _in_words(wins: pd.DataFrame) -> str:
    """The chart of win rates in one sentence."""
    parts = []
    for budget in SHARES:
        here = wins[wins["budget"] == budget].dropna(subset="share")
        if not here.empty:
            first = here.sort_values("share", ascending=False, kind="stable").iloc[0]
            parts.append(f"{budget}, {LABELS[first['method']]} with {percent(first['share'], 0)} of the datasets")
    return "Winners by budget: " + "; ".join(parts)

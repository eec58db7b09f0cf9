"""The report of a study: a page, figures and tables from its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from fairlevel.exceptions import InvalidInput
from fairlevel.report.page import Folded, Page, Section, TableBlock
from fairlevel.report.provenance import Provenance
from fairlevel_study.analysis.comparison import (
    COMPARISONS,
    budget_table,
    compared_rows,
    complete,
    in_units_of_the_constant,
    points_on_test,
)
from fairlevel_study.analysis.tables import attribute_table, cost_table, validation_ranges
from fairlevel_study.datasets import NAMED
from fairlevel_study.methods import LABELS, METHODS, PAPER_METHODS, VARIANT_METHODS
from fairlevel_study.pages.figures import NamedFigure
from fairlevel_study.pages.sections import (
    Compared,
    advice_section,
    claims_section,
    costs_section,
    datasets_section,
    definitions_section,
    prices_section,
)


@dataclass(frozen=True)
class Report:
    """The analysis of a study: figures, tables by name, and the page."""

    figures: tuple[NamedFigure, ...]
    tables: dict[str, pd.DataFrame]
    page: Page

    def save_figures(self, folder: Path) -> None:
        """Save each figure as PNG and SVG, each table as CSV."""
        for figure in self.figures:
            figure.save(folder)
        for name, table in self.tables.items():
            table.to_csv(folder / f"{name}.csv", index=False)


@dataclass(frozen=True)
class _Part:
    """Sections, figures and tables of one group of datasets."""

    used: pd.DataFrame
    sections: tuple[Section, ...]
    figures: tuple[NamedFigure, ...]
    tables: dict[str, pd.DataFrame]
    headline: Compared


def build_report(rows: pd.DataFrame) -> Report:
    """Analyse rows; methods are compared on the datasets that have a trade-off, tables with named attributes apart from
    the others.
    """
    rows = in_units_of_the_constant(rows)
    real = rows["dataset"].str.endswith(NAMED)
    groups = [(rows[~real], "", ""), (rows[real], "real-", "Named attributes: ")]
    parts = [_part(group, stem, before) for group, stem, before in groups if not group.empty]
    used = pd.concat([part.used for part in parts], ignore_index=True)
    protocols = ", ".join(sorted(used["protocol"].unique()))
    versions = sorted({f"fairlevel {row.version} {row.commit}".strip() for row in used.itertuples()})
    headline = parts[0].headline
    summary = (
        f"{', '.join(_counted(used, column) for column in ('dataset', 'seed', 'method'))}. "
        "A method wins a dataset where its test error is smallest within a budget on DPVar. "
        f"Compared are {headline.title}. {headline.figure.alt}."
    )
    provenance = Provenance(
        rows_used=None,
        settings={
            "protocol": protocols,
            "seeds": ", ".join(map(str, sorted(used["seed"].unique()))),
            "run with": ", ".join(versions),
        },
        method=(
            "Every model was trained on training rows, selected on validation rows and measured on test rows of the "
            "same split.",
        ),
    )
    sections = tuple(section for part in parts for section in part.sections)
    tables = {name: table for part in parts for name, table in part.tables.items()}
    page = Page("Benchmark: level predictions", summary, sections, provenance=provenance)
    return Report(tuple(figure for part in parts for figure in part.figures), tables, page)


def _counted(rows: pd.DataFrame, column: str) -> str:
    """How many different values a column has, in words."""
    count = rows[column].nunique()
    return f"{count} {column}" if count == 1 else f"{count} {column}s"


def _part(rows: pd.DataFrame, stem: str, before: str) -> _Part:
    """The report on a group of datasets; ``stem`` begins names of its files, ``before`` the titles of its sections."""
    present = [name for name in METHODS if name in set(rows["method"])]
    methods = [name for name in present if name not in VARIANT_METHODS] or present
    used = complete(rows, methods)
    if used.empty:
        raise InvalidInput("No dataset and seed has been run with every method; finish the run, then build the report.")
    ranges = validation_ranges(used)
    wide = list(ranges.index[ranges["informative"]])
    compared = used[used["dataset"].isin(wide)] if wide else used
    names = [name for name in COMPARISONS if name != "default" or "auto" in methods]
    by_name = {name: Compared(compared, name, methods) for name in names}
    single, stacked, comparisons = by_name["single"], by_name["stacked"], list(by_name.values())
    headline = by_name.get("default", single)
    paper = [name for name in PAPER_METHODS if name in methods]
    sections = [advice_section(single, stacked, cost_table(used, methods)), _overview(rows, used, ranges, methods)]
    if len(paper) > 1:
        only = Compared(compared, "single", paper, "single models of the paper's methods only", "-paper")
        comparisons.insert(0, only)
        if set(paper) == set(PAPER_METHODS) and not stem:
            sections.append(claims_section(only, ranges))
    variants = [name for name in VARIANT_METHODS if name in present and name not in methods]
    both = complete(rows[rows["dataset"].isin(compared["dataset"])], [*paper, *variants])
    if variants and paper and not both.empty:
        title = "the paper's methods and other readings of them, single models"
        comparisons.append(Compared(both, "single", [*paper, *variants], title, "-variants"))
    by_default = compared_rows(used, methods, COMPARISONS["default"].combiner_of)
    within = budget_table(by_default, methods).rename(columns={"limit": "DPVar up to"})
    sections += [comparison.section() for comparison in comparisons]
    sections += [definitions_section(compared, methods), costs_section(rows, present)]
    if "auto" in methods:
        sections.append(prices_section(points_on_test(by_default[by_default["method"] == "auto"])))
    sections.append(datasets_section(headline.points_of(used), methods, within))
    tables = {"datasets": _datasets(used, ranges)}
    for comparison in comparisons:
        tables |= {f"wins-{comparison.stem}": comparison.wins, f"regret-{comparison.stem}": comparison.regrets}
        tables |= {f"gain-{comparison.stem}": comparison.gains}
    return _Part(
        used,
        tuple(replace(section, title=before + section.title) for section in sections),
        tuple(replace(comparison.figure, name=stem + comparison.figure.name) for comparison in comparisons),
        {f"{stem}{name}": table for name, table in tables.items()},
        headline,
    )


def _overview(rows: pd.DataFrame, used: pd.DataFrame, ranges: pd.DataFrame, methods: Sequence[str]) -> Section:
    wide = int(ranges["informative"].sum())
    trained = used[used["combiner"] == "best"]
    diverged = int((trained["status"] == "diverged").sum())
    dropped = rows.drop_duplicates(["dataset", "seed"]).shape[0] - used.drop_duplicates(["dataset", "seed"]).shape[0]
    paragraphs = [
        f"{len(trained):,} models were trained, {diverged:,} diverged. {wide} of {len(ranges)} datasets have a range "
        "of at least 0.1 in both MSE and DPVar on validation rows; methods are compared on those"
        + ("." if wide else ", or on all datasets if there is none, as here."),
        "MSE is a share of the constant prediction's on the same test rows, so that R² = 1 − MSE; where no method has "
        "selected the constant, it is in squared standard deviations of the training target. DPVar, the paper's "
        "cross-fitted diagnostic, always is.",
    ]
    if dropped:
        paragraphs.append(f"{dropped} pairs of dataset and seed lack some method and are left out.")
    labels = ", ".join(LABELS[name] for name in methods)
    paragraphs.append(f"Methods: {labels}.")
    table = TableBlock.of(
        _datasets(used, ranges), "Datasets", "sets: number of different sets of sensitive attributes over the seeds"
    )
    return Section("What was run", tuple(paragraphs), (Folded(table.title, (table,)),))


def _datasets(used: pd.DataFrame, ranges: pd.DataFrame) -> pd.DataFrame:
    table = attribute_table(used).merge(ranges.reset_index(), on="dataset")
    table["features"], table["attributes"] = table["features"].astype(int), table["attributes"].astype(int)
    table["informative"] = table["informative"].map({True: "yes", False: "no"})
    return table.rename(columns={"mse_val": "MSE range", "dpvar_val": "DPVar range"})

"""``fairlevel bench synthetic``: the paper's synthetic study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from fairlevel.benchmark.analysis.budgets import budget_table
from fairlevel.benchmark.analysis.entrants import COMPARISONS, enter, points_on_test
from fairlevel.benchmark.executors import LocalExecutor
from fairlevel.benchmark.methods import METHODS, PAPER_METHODS
from fairlevel.benchmark.protocol import resolve_protocol
from fairlevel.benchmark.synthetic import SyntheticStudy
from fairlevel.cli.files import write_table
from fairlevel.cli.options import read_names, read_seeds
from fairlevel.fronts.budgets import SHARES
from fairlevel.plots.seed_bands import SeedBandDisplay

SIZES = {"small": (2000, "0-1"), "medium": (4000, "0-2"), "paper": (5000, "0-2"), "adam": (5000, "0-2")}
"""Rows and seeds of each protocol, unless told otherwise."""

TITLES = {"paper": "DPVar by the paper's diagnostic", "true": "true DPVar"}


def bench_synthetic(
    out: Annotated[Path, typer.Option(help="Folder for rows.parquet, tables and figures.")] = Path("bench-synthetic"),
    protocol: Annotated[str, typer.Option(help="small (a laptop), paper (gradient descent), adam.")] = "small",
    beta: Annotated[list[float] | None, typer.Option(help="Strength of the interaction; may be repeated.")] = None,
    attributes: Annotated[int, typer.Option(help="Number of sensitive attributes.")] = 5,
    methods: Annotated[str, typer.Option(help="Comma-separated names.")] = ",".join((*PAPER_METHODS, "fbo_closed")),
    seeds: Annotated[str | None, typer.Option(help="Such as 0-2 or 0,3,5.")] = None,
    rows: Annotated[int | None, typer.Option(help="Rows drawn for each seed.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    processes: Annotated[int | None, typer.Option(help="Tasks at a time; by default what the machine bears.")] = None,
) -> None:
    """Run the paper's synthetic study and write what came out."""
    console = Console()
    chosen = resolve_protocol(protocol)
    default_rows, default_seeds = SIZES[protocol]
    study = SyntheticStudy(
        protocol=chosen,
        rows=rows or default_rows,
        betas=tuple(beta or (1.0, 3.0, 10.0)),
        attributes=attributes,
        seeds=read_seeds(seeds or default_seeds),
        methods=read_names(methods),
        device=device,
    )
    executor = LocalExecutor(processes)
    out.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("training", total=len(study.tasks))
        found = study.run(executor, lambda done, _: bar.update(task, completed=done))
    write_table(found, out / "rows.parquet")
    single = enter(found, study.methods, COMPARISONS["single"][1])
    for kind, column in {"paper": "dpvar_test", "true": "dpvar_true"}.items():
        table = budget_table(single, study.methods, column)
        write_table(table, out / f"budgets-{kind}.csv")
        draw(single, column, out / f"fronts-{kind}")
        for dataset, part in table.groupby("dataset", sort=False):
            console.print(_shown(part, f"{dataset}, {TITLES[kind]}"))
    trained = found[found["combiner"] == "best"]
    diverged = int((trained["status"] == "diverged").sum())
    console.print(f"{len(trained)} models trained, {diverged} diverged; protocol {chosen.id}; {out}/", highlight=False)


def draw(rows: pd.DataFrame, dpvar: str, stem: Path) -> None:
    """One panel a dataset, as PNG and SVG."""
    points = points_on_test(rows, dpvar)
    datasets = points["dataset"].unique()
    figure = Figure(figsize=(5 * len(datasets), 4), layout="constrained")
    axes = figure.subplots(1, len(datasets), squeeze=False)
    for axis, dataset in zip(axes[0], datasets, strict=True):
        here = points[points["dataset"] == dataset]
        SeedBandDisplay.from_points(here, labels={name: METHODS[name].label for name in METHODS}, ax=axis)
        axis.set_title(dataset)
    for ending in ("png", "svg"):
        figure.savefig(f"{stem}.{ending}", dpi=150)


def _shown(table: pd.DataFrame, title: str) -> Table:
    shown = Table(title=title, caption="best test MSE within a budget: median over seeds (range)")
    shown.add_column("method")
    for budget in SHARES:
        shown.add_column(budget, justify="right")
    for method, own in table.groupby("method", sort=False):
        shown.add_row(METHODS[str(method)].label, *(_cell(row) for _, row in own.iterrows()))
    return shown


def _cell(row: pd.Series) -> str:
    if not row["feasible"]:
        return "–"
    few = "" if row["feasible"] == row["seeds"] else f", {row['feasible']} of {row['seeds']} seeds"
    return f"{row['median']:.3f} ({row['low']:.3f}–{row['high']:.3f}{few})"

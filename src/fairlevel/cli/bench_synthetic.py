"""``fairlevel bench synthetic``: run the paper's synthetic study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from fairlevel.cli.names import require_methods, require_processes, require_protocol
from fairlevel.cli.options import read_names, read_seeds
from fairlevel.cli.talk import Json, Quiet, Talk, shown_path
from fairlevel.progress import share_of, stage

if TYPE_CHECKING:
    import pandas as pd

EXAMPLE = "fairlevel bench synthetic --beta 1 --seeds 0-2 --methods fbo,r2"
TITLES = {"paper": "DPVar by the paper's diagnostic", "true": "true DPVar"}


def bench_synthetic(
    out: Annotated[Path, typer.Option(help="Folder for rows.parquet, tables and figures.")] = Path("bench-synthetic"),
    protocol: Annotated[
        str, typer.Option(help="How models are trained: paper, adam, medium or small; see docs/protocol.md.")
    ] = "small",
    beta: Annotated[list[float] | None, typer.Option(help="Strength of the interaction; may be repeated.")] = None,
    attributes: Annotated[int, typer.Option(help="Number of sensitive attributes.")] = 5,
    methods: Annotated[str, typer.Option(help="Methods or suites of methods, comma-separated.")] = "paper,fbo_closed",
    seeds: Annotated[str | None, typer.Option(help="Seeds, such as 0-2 or 0,3,5; the protocol has a default.")] = None,
    rows: Annotated[int | None, typer.Option(help="Rows drawn for each seed; the protocol has a default.")] = None,
    device: Annotated[str, typer.Option(help="Where to compute: auto, cpu or cuda.")] = "auto",
    processes: Annotated[
        int | None, typer.Option(help="Number of tasks at the same time; by default one per core.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run the paper's synthetic study; write rows, tables and figures."""
    talk = Talk(quiet, as_json)
    require_protocol(protocol)
    require_methods(read_names(methods))
    require_processes(processes)
    numbers = None if seeds is None else read_seeds(seeds)
    with talk.working() as warned:
        stage("loading libraries")
        from fairlevel.benchmark.analysis.budgets import budget_table
        from fairlevel.benchmark.analysis.comparisons import COMPARISONS, compared_rows
        from fairlevel.benchmark.protocol import SYNTHETIC_SEEDS
        from fairlevel.benchmark.synthetic import SyntheticStudy
        from fairlevel.benchmark.variants import resolve_protocol
        from fairlevel.cli.files import write_table
        from fairlevel.executors import LocalExecutor

        chosen = resolve_protocol(protocol)
        study = SyntheticStudy(
            protocol=chosen,
            rows=rows or min(SyntheticStudy.rows, chosen.most_rows),
            betas=tuple(beta or SyntheticStudy.betas),
            attributes=attributes,
            seeds=SYNTHETIC_SEEDS.get(protocol.split("+")[0], SyntheticStudy.seeds) if numbers is None else numbers,
            methods=read_names(methods),
            device=device,
        )
        executor = LocalExecutor(processes)
        out.mkdir(parents=True, exist_ok=True)
        done = share_of(f"running {len(study.tasks)} tasks")
        found = study.run(executor, lambda finished, total: done(finished / total))
        stage("writing tables and figures")
        write_table(found, out / "rows.parquet")
        single, tables = compared_rows(found, study.methods, COMPARISONS["single"].combiner_of), {}
        for kind, column in {"paper": "dpvar_test", "true": "dpvar_true"}.items():
            tables[kind] = budget_table(single, study.methods, column)
            write_table(tables[kind], out / f"budgets-{kind}.csv")
            draw(single, column, out / f"fronts-{kind}")
    for kind, table in tables.items():
        for dataset, part in table.groupby("dataset", sort=False):
            talk.say(_shown(part, f"{dataset}, {TITLES[kind]}"))
    trained = found[found["combiner"] == "best"]
    diverged = int((trained["status"] == "diverged").sum())
    talk.say(f"{len(trained)} models trained, {diverged} diverged; protocol {chosen.id}; {shown_path(out)}")
    talk.result(models=len(trained), diverged=diverged, protocol=chosen.id, out=out, budgets=tables, warnings=warned)


def draw(rows: pd.DataFrame, dpvar: str, stem: Path) -> None:
    """Draw one panel per dataset; save PNG and SVG."""
    from matplotlib.figure import Figure

    from fairlevel.benchmark.analysis.comparisons import points_on_test
    from fairlevel.benchmark.methods import METHODS
    from fairlevel.plots.seed_bands import SeedBandDisplay

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
    from fairlevel.benchmark.methods import METHODS
    from fairlevel.fronts.budgets import SHARES

    shown = Table(title=title, caption="smallest test MSE within each budget on DPVar: median over seeds (range)")
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

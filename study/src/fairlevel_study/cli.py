"""The command line ``fairlevel-study``; what needs PyTorch is imported by the command that uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column, Table

from fairlevel.cli import run_command_line, with_version
from fairlevel.cli.options import as_option, one_of, read_names
from fairlevel.cli.talk import Json, Quiet, Talk, shown_path
from fairlevel.exceptions import FairLevelError, InvalidInput
from fairlevel.progress import share_of, stage
from fairlevel_study.catalogue import SUITES, Entry, catalogue, suite

if TYPE_CHECKING:
    import pandas as pd

    from fairlevel_study.executors import Executor, Failure
    from fairlevel_study.rows import Key

study = typer.Typer(help="Rerun the paper's studies.", no_args_is_help=True, rich_markup_mode="rich")
data = typer.Typer(help="The tables of the study.", no_args_is_help=True, rich_markup_mode="rich")
study.add_typer(data, name="data")
with_version(study, "fairlevel-study")


def _methods(ctx: typer.Context, incomplete: str) -> list[str]:
    from fairlevel_study.methods import METHODS, SUITES

    return one_of((*SUITES, *METHODS))(ctx, incomplete)


def _protocols(ctx: typer.Context, incomplete: str) -> list[str]:
    from fairlevel_study.protocol import PROTOCOLS

    return one_of(PROTOCOLS)(ctx, incomplete)


def _named(help_text: str, completion: Callable[[typer.Context, str], list[str]]) -> Any:
    """An option whose names the Tab key completes."""
    return typer.Option(help=help_text, autocompletion=completion)


_tables = one_of((*SUITES, "synthetic", *catalogue()))

Out = Annotated[Path, typer.Option(help="Folder of results.")]
DataDir = Annotated[Path | None, typer.Option(help="Folder of tables; without it, tables come from OpenML.")]
Methods = Annotated[
    str,
    _named("Methods, or the suites paper, ours, map, systems, references and variants; comma-separated.", _methods),
]
ProtocolName = Annotated[
    str,
    _named(
        "How models are trained: paper, paper2k, adam, medium, small or tiny, or a variant such as small+descent; see "
        "docs/protocol.md.",
        _protocols,
    ),
]
Device = Annotated[str, _named("Where to compute: auto, cpu or cuda.", one_of(("auto", "cpu", "cuda")))]
Processes = Annotated[int | None, typer.Option(help="Number of tasks at the same time on this machine.")]
BENCH = Path("bench")


def _example(line: str) -> str:
    return f"Example: [bold]fairlevel-study {line}[/bold]"


@study.command(epilog=_example("run --suite quick --seeds 0-2 --protocol small"))
def run(
    suite: Annotated[
        str, _named("Suites, tables (table@age+sex names A) or synthetic designs, comma-separated.", _tables)
    ] = "quick",
    seeds: Annotated[str, typer.Option(help="Seeds, such as 0-9 or 0,3,5.")] = "0-9",
    methods: Methods = "paper,ours,references",
    protocol: ProtocolName = "paper",
    data_dir: DataDir = None,
    out: Annotated[Path, typer.Option(help="Folder of results; a run that was stopped is resumed there.")] = BENCH,
    kept: Annotated[
        Path | None, typer.Option(help="File of the command keep: tasks whose rows it holds are not run again.")
    ] = None,
    device: Device = "auto",
    executor: Annotated[
        str, _named("Where tasks run: local (processes of this machine) or ray (a cluster).", one_of(("local", "ray")))
    ] = "local",
    processes: Processes = None,
    address: Annotated[
        str | None, typer.Option(help="For ray: address of a cluster; without it, this machine.")
    ] = None,
    gpus: Annotated[float | None, typer.Option(help="For ray: share of a GPU that each task needs.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a study. Finished tasks are kept: the same command resumes a run that was stopped."""
    talk, numbers = Talk(quiet, as_json), read_seeds(seeds)
    with talk.working() as warned:
        stage("loading libraries")
        from fairlevel_study.datasets import resolve_datasets
        from fairlevel_study.methods import resolve_methods
        from fairlevel_study.protocol import resolve_protocol
        from fairlevel_study.rows import Store, kept_tasks
        from fairlevel_study.sources import resolve_source
        from fairlevel_study.task import run_tasks, tasks_of

        chosen, source = resolve_protocol(protocol), resolve_source(data_dir)
        datasets = resolve_datasets(read_names(suite), source)
        names = [method.name for method in resolve_methods(read_names(methods))]
        runner = make_executor(executor, processes=processes, address=address, gpus=gpus)
        known = set() if kept is None else kept_tasks(kept, chosen.id)
        tasks = [task for task in tasks_of(datasets, numbers, names, chosen, device) if task.key not in known]
        if not tasks:
            talk.say(f"Nothing is left to run: {kept} holds the rows of every task.")
            talk.result(finished=0, tasks=0, failed=[], protocol=chosen.id, out=out, warnings=warned)
            return
        store = Store(out)
        report = share_of(f"running {len(tasks)} tasks")
        with store.claimed(chosen.id, source.name, [dataset.name for dataset in datasets], numbers, names):
            try:
                failures = run_tasks(tasks, store, runner, report)
            except KeyboardInterrupt:
                talk.warn(f"stopped; finished tasks are kept in {out}, and the same command goes on with the others.")
                raise
    for sentence in _in_words(failures):
        talk.warn(sentence, style="red")
    finished = len(tasks) - len(failures)
    talk.say(f"{finished} of {len(tasks)} tasks finished; protocol {chosen.id}")
    if finished:
        talk.next("fairlevel-study", "report", "--out", out)
    failed = [{"task": key, "message": failure.message} for key, failure in failures.items()]
    talk.result(finished=finished, tasks=len(tasks), failed=failed, protocol=chosen.id, out=out, warnings=warned)
    if failures:
        raise typer.Exit(1)


@study.command(epilog=_example("status --out bench"))
def status(out: Out = BENCH, quiet: Quiet = False, as_json: Json = False) -> None:
    """Show which tasks of a run are finished."""
    from fairlevel_study.rows import Store

    store = Store(out)
    plan = store.plan()
    counts = {
        dataset: {
            name: sum(store.finished((dataset, seed, name)) for seed in plan["seeds"]) for name in plan["methods"]
        }
        for dataset in plan["datasets"]
    }
    done = sum(sum(row.values()) for row in counts.values())
    total = len(plan["datasets"]) * len(plan["seeds"]) * len(plan["methods"])
    talk = Talk(quiet, as_json)
    talk.result(finished=done, tasks=total, **plan, counts=counts)
    talk.say(f"{done} of {total} tasks finished; protocol {plan['protocol']}; source {plan['source']}")
    table = Table("dataset", *(Column(method, justify="right") for method in plan["methods"]))
    for dataset, row in counts.items():
        table.add_row(dataset, *(f"{count}/{len(plan['seeds'])}" for count in row.values()))
    talk.say(table)


@study.command(epilog=_example("report --out bench"))
def report(
    out: Annotated[Path, typer.Option(help="Folder of results; the report goes to its subfolder report.")] = BENCH,
    rows: Annotated[Path | None, typer.Option(help="Read results from this Parquet file instead.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Analyse a finished or running study: report.html, figures as PNG and SVG, tables as CSV, all rows as Parquet."""
    talk, folder = Talk(quiet, as_json), out / "report"
    with talk.working() as warned:
        stage("loading libraries")
        from fairlevel.cli.files import write_table
        from fairlevel.report.render import write_page
        from fairlevel_study.pages.report import build_report
        from fairlevel_study.rows import Store, read_rows

        stage("reading results")
        results = Store(out).read() if rows is None else read_rows(rows)
        stage("comparing methods")
        built = build_report(results)
        stage("writing figures and tables")
        folder.mkdir(parents=True, exist_ok=True)
        built.save_figures(folder)
        write_table(results, folder / "rows.parquet")
        stage("writing the page")
        write_page(built.page, folder / "report.html")
    talk.say(built.page.summary)
    talk.say(f"report: {shown_path(folder / 'report.html')}")
    talk.result(
        report=folder / "report.html",
        rows=folder / "rows.parquet",
        summary=built.page.summary,
        tables={name: folder / f"{name}.csv" for name in built.tables},
        warnings=warned,
    )


@study.command(epilog=_example("keep --out bench --into study.parquet"))
def keep(
    into: Annotated[Path, typer.Option(help="Parquet file that grows; rows of the same tasks are replaced.")],
    out: Out = BENCH,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Add the finished tasks of a run, complete or not, to one compact Parquet file."""
    talk = Talk(quiet, as_json)
    from fairlevel_study.rows import TASK, Store, keep_rows

    rows = keep_rows(Store(out).read(), into)
    tasks, pairs = len(rows.drop_duplicates(TASK)), len(rows.drop_duplicates(["dataset", "seed"]))
    counts = f"{len(rows):,} rows of {tasks:,} tasks on {pairs:,} pairs of dataset and seed"
    talk.say(f"{shown_path(into)}: {counts}, {into.stat().st_size / 2**20:.1f} MB")
    talk.result(file=into, rows=len(rows), tasks=tasks, pairs=pairs)


@study.command(epilog=_example("synthetic --beta 1 --seeds 0-2 --methods fbo,r2"))
def synthetic(
    out: Annotated[Path, typer.Option(help="Folder for rows.parquet, tables and figures.")] = Path("bench-synthetic"),
    protocol: ProtocolName = "small",
    beta: Annotated[list[float] | None, typer.Option(help="Strength of the interaction; may be repeated.")] = None,
    attributes: Annotated[int, typer.Option(help="Number of sensitive attributes.")] = 5,
    methods: Methods = "paper,fbo_closed",
    seeds: Annotated[str | None, typer.Option(help="Seeds, such as 0-2 or 0,3,5; the protocol has a default.")] = None,
    rows: Annotated[int | None, typer.Option(help="Rows drawn for each seed; the protocol has a default.")] = None,
    device: Device = "auto",
    processes: Processes = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run the paper's synthetic study; write rows, tables and figures."""
    talk, given = Talk(quiet, as_json), None if seeds is None else read_seeds(seeds)
    with talk.working() as warned:
        stage("loading libraries")
        from fairlevel.cli.files import write_table
        from fairlevel_study.analysis.comparison import COMPARISONS, budget_table, compared_rows
        from fairlevel_study.datasets import BETAS, SyntheticDataset, synthetic_datasets
        from fairlevel_study.executors import LocalExecutor
        from fairlevel_study.methods import resolve_methods
        from fairlevel_study.protocol import SYNTHETIC_SEEDS, resolve_protocol
        from fairlevel_study.task import rows_of_tasks, tasks_of

        chosen = resolve_protocol(protocol)
        names = [method.name for method in resolve_methods(read_names(methods))]
        drawn = rows or min(SyntheticDataset.rows, chosen.most_rows)
        datasets = synthetic_datasets(beta or BETAS, attributes, drawn)
        numbers = SYNTHETIC_SEEDS.get(protocol.split("+")[0], (0, 1, 2)) if given is None else given
        tasks, executor = tasks_of(datasets, numbers, names, chosen, device), LocalExecutor(processes)
        out.mkdir(parents=True, exist_ok=True)
        results = rows_of_tasks(tasks, executor, share_of(f"running {len(tasks)} tasks"))
        stage("writing tables and figures")
        write_table(results, out / "rows.parquet")
        single, tables = compared_rows(results, names, COMPARISONS["single"].combiner_of), {}
        for kind, column in {"paper": "dpvar_test", "true": "dpvar_true"}.items():
            tables[kind] = budget_table(single, names, column)
            write_table(tables[kind], out / f"budgets-{kind}.csv")
            draw_designs(single, column, out / f"fronts-{kind}")
    for title, table in zip(("DPVar by the paper's diagnostic", "true DPVar"), tables.values(), strict=True):
        for dataset, part in table.groupby("dataset", sort=False):
            talk.say(_budgets(part, f"{dataset}, {title}"))
    trained = results[results["combiner"] == "best"]
    diverged = int((trained["status"] == "diverged").sum())
    talk.say(f"{len(trained)} models trained, {diverged} diverged; protocol {chosen.id}; {shown_path(out)}")
    talk.result(models=len(trained), diverged=diverged, protocol=chosen.id, out=out, budgets=tables, warnings=warned)


@data.command("list", epilog=_example("data list --suite quick"))
def data_list(
    name: Annotated[
        str, typer.Option("--suite", help=f"One of: {', '.join(SUITES)}.", autocompletion=one_of(SUITES))
    ] = "all",
    data_dir: DataDir = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """List the tables of the catalogue, and other tables of the folder."""
    from fairlevel_study.sources import resolve_source

    source, known = resolve_source(data_dir), catalogue()
    slugs = suite(name, tuple({*known, *source.slugs}))
    entries = [known.get(slug) or Entry(slug, slug) for slug in slugs]
    talk = Talk(quiet, as_json)
    tables = [asdict(entry) | {"available": entry.slug in source.slugs} for entry in entries]
    talk.result(source=source.name, tables=tables)
    talk.say(f"{len(entries)} tables; source: {source.name}")
    table = Table(Column("slug", no_wrap=True), "title", "OpenML", "suites", "available")
    for entry in entries:
        here = "yes" if entry.slug in source.slugs else "no"
        table.add_row(entry.slug, entry.title, str(entry.openml_id or ""), ", ".join(entry.suites), here)
    talk.say(table)


@data.command("fetch", epilog=_example("data fetch quick"))
def data_fetch(
    names: Annotated[str, typer.Argument(help="Suites or tables, comma-separated.", autocompletion=_tables)],
    data_dir: Annotated[
        Path | None, typer.Option(help="Check the tables of this folder instead of downloading.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Download tables into the cache, or check those of a folder; every failure is listed."""
    from fairlevel_study.sources import resolve_source

    talk, source = Talk(quiet, as_json), resolve_source(data_dir)
    groups = [suite(name, source.slugs) if name in SUITES else (name,) for name in read_names(names)]
    slugs = list(dict.fromkeys(slug for group in groups for slug in group))
    fetched, failed = {}, {}
    with talk.working():
        done = share_of("fetching tables")
        for number, slug in enumerate(slugs):
            done(number / len(slugs))
            try:
                table = source.load(slug)
            except FairLevelError as error:
                failed[slug] = str(error)
                talk.warn(f"{slug}: {error}", style="red")
            else:
                rows, columns = table.features.shape
                fetched[slug] = {"rows": rows, "features": columns, "target": table.target.name}
                talk.say(f"{slug}: {rows:,} rows, {columns} features, target {table.target.name}")
    talk.result(source=source.name, tables=fetched, failed=failed)
    if failed:
        raise typer.Exit(1)


@data.command("synthetic", epilog=_example("data synthetic --out rows.csv --rows 2000"))
def data_synthetic(
    out: Annotated[Path, typer.Option(help="File to write, .csv or .parquet.")],
    rows: Annotated[int, typer.Option(help="Number of rows.")] = 5000,
    beta_int: Annotated[
        float, typer.Option(help="Strength of the interaction between sensitive and other features.")
    ] = 1.0,
    attributes: Annotated[int, typer.Option(help="Number of sensitive attributes.")] = 5,
    features: Annotated[int, typer.Option(help="Number of features.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the rows.")] = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write a table of the paper's synthetic design: a1… (sensitive), x1… (features), y."""
    from fairlevel.cli.files import write_table
    from fairlevel.data.synthetic import SyntheticDesign

    design = SyntheticDesign(beta_int=beta_int, attributes=attributes, features=features)
    write_table(design.sample(rows, seed).to_frame(), out)
    talk = Talk(quiet, as_json)
    talk.say(f"{rows:,} rows, {attributes} sensitive attributes, {features} features: {shown_path(out)}")
    sensitive = as_option(f"a{number}" for number in range(1, attributes + 1))
    talk.next("fairlevel", "front", out, "--target", "y", "--sensitive", sensitive)
    talk.result(rows=rows, attributes=attributes, features=features, out=out)


def read_seeds(text: str) -> tuple[int, ...]:
    """Seeds from text such as ``0-2``, ``0,3,5`` or ``0-2,5``, each once."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise InvalidInput(f"--seeds {text!r} was given; whole numbers are needed, such as 0-9 or 0,3,5.")
        seeds += range(int(first), int(last or first) + 1)
    if not seeds:
        raise InvalidInput(f"--seeds {text!r} names no seed; write the smaller number first, such as 0-9.")
    return tuple(dict.fromkeys(seeds))


def make_executor(name: str, **options: Any) -> Executor:
    """The executor of this name, with the given options; an option of another executor is an error."""
    from fairlevel.exceptions import UnknownName
    from fairlevel_study.executors import EXECUTORS

    if name not in EXECUTORS:
        raise UnknownName("executor", name, EXECUTORS)
    given = {option: value for option, value in options.items() if value is not None}
    for option in given.keys() - {field.name for field in fields(EXECUTORS[name])}:
        raise InvalidInput(f"--{option} does not belong to --executor {name}; leave it out.")
    return EXECUTORS[name](**given)


def _in_words(failures: Mapping[Key, Failure]) -> Iterator[str]:
    """One sentence per message: the task that failed, or the first of several and their number."""
    alike: dict[str, list[str]] = {}
    for key, failure in failures.items():
        alike.setdefault(failure.message, []).append(" / ".join(map(str, key)))
    for message, tasks in alike.items():
        others = f" and {len(tasks) - 1} more" if len(tasks) > 1 else ""
        yield f"failed: {tasks[0]}{others}: {message}"


def draw_designs(rows: pd.DataFrame, dpvar: str, stem: Path) -> None:
    """Draw the bands over seeds of each synthetic design side by side; save PNG and SVG."""
    from matplotlib.figure import Figure

    from fairlevel_study.analysis.comparison import points_on_test
    from fairlevel_study.methods import LABELS
    from fairlevel_study.pages.figures import draw_bands, seed_bands

    points = points_on_test(rows, dpvar)
    datasets = points["dataset"].unique()
    figure = Figure(figsize=(5 * len(datasets), 4), layout="constrained")
    axes = figure.subplots(1, len(datasets), squeeze=False)
    for axis, dataset in zip(axes[0], datasets, strict=True):
        draw_bands(axis, seed_bands(points[points["dataset"] == dataset]), LABELS)
        axis.set_title(dataset)
    for ending in ("png", "svg"):
        figure.savefig(f"{stem}.{ending}", dpi=150)


def _budgets(table: pd.DataFrame, title: str) -> Table:
    """The smallest error of each method within each budget, as a table for a terminal."""
    from fairlevel_study.methods import LABELS
    from fairlevel_study.points import SHARES

    caption = "smallest test MSE within each budget on DPVar: median over seeds (range)"
    shown = Table("method", *(Column(budget, justify="right") for budget in SHARES), title=title, caption=caption)
    for method, of_method in table.groupby("method", sort=False):
        shown.add_row(LABELS[str(method)], *(_cell(row) for _, row in of_method.iterrows()))
    return shown


def _cell(row: pd.Series) -> str:
    if not row["feasible"]:
        return "–"
    few = "" if row["feasible"] == row["seeds"] else f", {row['feasible']} of {row['seeds']} seeds"
    return f"{row['median']:.3f} ({row['low']:.3f}–{row['high']:.3f}{few})"


def app() -> None:
    """Run the command line, with the exit codes of ``fairlevel``."""
    run_command_line(typer.main.get_command(study), "fairlevel-study")

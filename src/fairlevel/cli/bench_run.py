"""``fairlevel bench run``: run methods on datasets and seeds; a run that was stopped can be resumed."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from fairlevel.cli.options import read_names, read_seeds
from fairlevel.exceptions import InvalidInput, UnknownName

if TYPE_CHECKING:
    from fairlevel.benchmark.executors import Executor


def bench_run(
    suite: Annotated[str, typer.Option(help="Suites, tables or synthetic designs, comma-separated.")] = "quick",
    seeds: Annotated[str, typer.Option(help="Seeds, such as 0-9 or 0,3,5.")] = "0-9",
    methods: Annotated[
        str, typer.Option(help="Methods, or the suites paper, ours, map and references, comma-separated.")
    ] = "paper,ours",
    protocol: Annotated[
        str, typer.Option(help="How models are trained: paper, adam, medium or small; see docs/protocol.md.")
    ] = "paper",
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of tables; without it, tables come from OpenML.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of results; a run that was stopped is resumed there.")] = Path(
        "bench"
    ),
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    executor: Annotated[str, typer.Option(help="local or ray.")] = "local",
    processes: Annotated[int | None, typer.Option(help="For local: number of tasks at the same time.")] = None,
    address: Annotated[
        str | None, typer.Option(help="For ray: address of a cluster; without it, this machine.")
    ] = None,
    gpus: Annotated[float | None, typer.Option(help="For ray: share of a GPU that each task needs.")] = None,
) -> None:
    """Run a study. Finished tasks are kept: the same command resumes a run that was stopped."""
    from fairlevel.benchmark.datasets import resolve_datasets
    from fairlevel.benchmark.methods import resolve_methods
    from fairlevel.benchmark.protocol import resolve_protocol
    from fairlevel.benchmark.run import run_tasks
    from fairlevel.benchmark.store import Store
    from fairlevel.benchmark.task import Task
    from fairlevel.data.sources import resolve_source

    console = Console(markup=False)
    chosen, source = resolve_protocol(protocol), resolve_source(data_dir)
    datasets, numbers = resolve_datasets(read_names(suite), source), read_seeds(seeds)
    names = [method.name for method in resolve_methods(read_names(methods))]
    if not datasets or not names:
        raise InvalidInput("Nothing to run: name at least one suite and one method.")
    runner = make_executor(executor, processes=processes, address=address, gpus=gpus)
    tasks = [
        Task(dataset, seed, method, chosen, device) for dataset in datasets for seed in numbers for method in names
    ]
    store = Store(out)
    with store.claimed(chosen.id, source.name, [dataset.name for dataset in datasets], numbers, names):
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(
            *columns, TextColumn("remaining:"), TimeRemainingColumn(), console=console, disable=not console.is_terminal
        ) as bar:
            line = bar.add_task("tasks", total=len(tasks))
            failures = run_tasks(tasks, store, runner, lambda done, _: bar.update(line, completed=done))
    for key, failure in failures.items():
        console.print(f"failed: {' / '.join(map(str, key))}: {failure.message}", markup=False, highlight=False)
    finished = len(tasks) - len(failures)
    then = f"; next: fairlevel bench report --out {out}" if finished else ""
    console.print(
        f"{finished} of {len(tasks)} tasks finished; protocol {chosen.id}{then}",
        highlight=False,
        soft_wrap=True,
    )
    if failures:
        raise typer.Exit(1)


def make_executor(name: str, **options: Any) -> Executor:
    """The executor of this name, with the given options; an option of another executor is an error."""
    from fairlevel.benchmark.executors import EXECUTORS

    if name not in EXECUTORS:
        raise UnknownName("executor", name, EXECUTORS)
    given = {option: value for option, value in options.items() if value is not None}
    own = {field.name for field in fields(EXECUTORS[name])}
    for option in given:
        if option not in own:
            raise InvalidInput(f"--{option} does not belong to --executor {name}; leave it out.")
    return EXECUTORS[name](**given)

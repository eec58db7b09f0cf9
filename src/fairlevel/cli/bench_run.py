"""``fairlevel bench run``: run methods on datasets and seeds; a run that was stopped can be resumed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairlevel.cli.names import require_executor, require_methods, require_processes, require_protocol
from fairlevel.cli.options import make_executor, read_names, read_seeds
from fairlevel.cli.talk import Json, Quiet, Talk
from fairlevel.exceptions import InvalidInput
from fairlevel.progress import share_of, stage

if TYPE_CHECKING:
    from fairlevel.benchmark.store import Key
    from fairlevel.executors import Failure

EXAMPLE = "fairlevel bench run --suite quick --seeds 0-2 --protocol small"


def bench_run(
    suite: Annotated[
        str, typer.Option(help="Suites, tables (table@age+sex names A) or synthetic designs, comma-separated.")
    ] = "quick",
    seeds: Annotated[str, typer.Option(help="Seeds, such as 0-9 or 0,3,5.")] = "0-9",
    methods: Annotated[
        str, typer.Option(help="Methods, or the suites paper, ours, map, systems, references and variants.")
    ] = "paper,ours,references",
    protocol: Annotated[
        str,
        typer.Option(
            help="How models are trained: paper, paper2k, adam, medium, small or tiny, or a variant such as "
            "small+descent; see docs/protocol.md."
        ),
    ] = "paper",
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of tables; without it, tables come from OpenML.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of results; a run that was stopped is resumed there.")] = Path(
        "bench"
    ),
    kept: Annotated[
        Path | None, typer.Option(help="File of bench keep: tasks whose rows it holds are not run again.")
    ] = None,
    device: Annotated[str, typer.Option(help="Where to compute: auto, cpu or cuda.")] = "auto",
    executor: Annotated[
        str, typer.Option(help="Where tasks run: local (processes of this machine) or ray (a cluster).")
    ] = "local",
    processes: Annotated[int | None, typer.Option(help="For local: number of tasks at the same time.")] = None,
    address: Annotated[
        str | None, typer.Option(help="For ray: address of a cluster; without it, this machine.")
    ] = None,
    gpus: Annotated[float | None, typer.Option(help="For ray: share of a GPU that each task needs.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a study. Finished tasks are kept: the same command resumes a run that was stopped."""
    talk, numbers = Talk(quiet, as_json), read_seeds(seeds)
    require_protocol(protocol)
    require_methods(read_names(methods))
    require_executor(executor)
    require_processes(processes)
    with talk.working() as warned:
        stage("loading libraries")
        from fairlevel.benchmark.datasets import resolve_datasets
        from fairlevel.benchmark.kept import kept_tasks
        from fairlevel.benchmark.methods import resolve_methods
        from fairlevel.benchmark.run import run_tasks
        from fairlevel.benchmark.store import Store
        from fairlevel.benchmark.task import Task
        from fairlevel.benchmark.variants import resolve_protocol
        from fairlevel.data.sources import resolve_source

        chosen, source = resolve_protocol(protocol), resolve_source(data_dir)
        datasets = resolve_datasets(read_names(suite), source)
        names = [method.name for method in resolve_methods(read_names(methods))]
        if not datasets or not names:
            raise InvalidInput("Nothing to run: name at least one suite and one method.")
        runner = make_executor(executor, processes=processes, address=address, gpus=gpus)
        known = set() if kept is None else kept_tasks(kept, chosen.id)
        tasks = [
            Task(dataset, seed, method, chosen, device) for dataset in datasets for seed in numbers for method in names
        ]
        tasks = [task for task in tasks if task.key not in known]
        if not tasks:
            talk.say(f"Nothing is left to run: {kept} holds the rows of every task.")
            talk.result(finished=0, tasks=0, failed=[], protocol=chosen.id, out=out, warnings=warned)
            return
        store = Store(out)
        done = share_of(f"running {len(tasks)} tasks")
        with store.claimed(chosen.id, source.name, [dataset.name for dataset in datasets], numbers, names):
            try:
                failures = run_tasks(tasks, store, runner, lambda finished, total: done(finished / total))
            except KeyboardInterrupt:
                talk.warn(f"stopped; finished tasks are kept in {out}, and the same command goes on with the others.")
                raise
    for sentence in _in_words(failures):
        talk.warn(sentence, style="red")
    finished = len(tasks) - len(failures)
    talk.say(f"{finished} of {len(tasks)} tasks finished; protocol {chosen.id}")
    if finished:
        talk.next("fairlevel", "bench", "report", "--out", out)
    failed = [{"task": key, "message": failure.message} for key, failure in failures.items()]
    talk.result(finished=finished, tasks=len(tasks), failed=failed, protocol=chosen.id, out=out, warnings=warned)
    if failures:
        raise typer.Exit(1)


def _in_words(failures: Mapping[Key, Failure]) -> Iterator[str]:
    """One sentence per message: the task that failed, or the first of several and their number."""
    alike: dict[str, list[str]] = {}
    for key, failure in failures.items():
        alike.setdefault(failure.message, []).append(" / ".join(map(str, key)))
    for message, tasks in alike.items():
        others = f" and {len(tasks) - 1} more" if len(tasks) > 1 else ""
        yield f"failed: {tasks[0]}{others}: {message}"

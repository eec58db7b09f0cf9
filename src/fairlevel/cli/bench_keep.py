"""``fairlevel bench keep``: add the rows of a run to one compact file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairlevel.cli.talk import Json, Quiet, Talk, shown_path

EXAMPLE = "fairlevel bench keep --out bench --into study.parquet"


def bench_keep(
    into: Annotated[Path, typer.Option(help="Parquet file that grows; rows of the same tasks are replaced.")],
    out: Annotated[Path, typer.Option(help="Folder of results.")] = Path("bench"),
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Add the finished tasks of a run, complete or not, to one compact Parquet file."""
    talk = Talk(quiet, as_json)
    from fairlevel.benchmark.kept import TASK, keep_rows
    from fairlevel.benchmark.store import Store

    rows = keep_rows(Store(out).read(), into)
    tasks, pairs = len(rows.drop_duplicates(TASK)), len(rows.drop_duplicates(["dataset", "seed"]))
    size = into.stat().st_size / 2**20
    counts = f"{len(rows):,} rows of {tasks:,} tasks on {pairs:,} pairs of dataset and seed"
    talk.say(f"{shown_path(into)}: {counts}, {size:.1f} MB")
    talk.result(file=into, rows=len(rows), tasks=tasks, pairs=pairs)

"""``fairlevel bench keep``: add the rows of a run to one compact file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def bench_keep(
    into: Annotated[Path, typer.Option(help="Parquet file that grows; rows of the same tasks are replaced.")],
    out: Annotated[Path, typer.Option(help="Folder of results.")] = Path("bench"),
) -> None:
    """Add the finished tasks of a run, complete or not, to one compact Parquet file."""
    from fairlevel.benchmark.kept import TASK, keep_rows
    from fairlevel.benchmark.store import Store

    rows = keep_rows(Store(out).read(), into)
    tasks, pairs = len(rows.drop_duplicates(TASK)), len(rows.drop_duplicates(["dataset", "seed"]))
    Console(markup=False).print(
        f"{into}: {len(rows):,} rows of {tasks:,} tasks on {pairs:,} pairs of dataset and seed, "
        f"{into.stat().st_size / 2**20:.1f} MB",
        highlight=False,
        soft_wrap=True,
    )

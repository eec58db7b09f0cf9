"""``fairlevel data fetch``: download tables before a run, or check those of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fairlevel.cli.options import read_names
from fairlevel.data.catalogue import SUITES, suite
from fairlevel.exceptions import FairLevelError


def data_fetch(
    names: Annotated[str, typer.Argument(help="Suites or tables, comma-separated.")],
    data_dir: Annotated[
        Path | None, typer.Option(help="Check the tables of this folder instead of downloading.")
    ] = None,
) -> None:
    """Download tables into the cache, or check those of a folder; every failure is listed."""
    from fairlevel.data.sources import resolve_source

    console, source = Console(markup=False), resolve_source(data_dir)
    slugs = [slug for name in read_names(names) for slug in (suite(name, source.slugs) if name in SUITES else (name,))]
    failed = 0
    for slug in dict.fromkeys(slugs):
        try:
            table = source.load(slug)
        except FairLevelError as error:
            failed += 1
            console.print(f"{slug}: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
            continue
        rows, columns = table.features.shape
        console.print(f"{slug}: {rows} rows, {columns} features, target {table.target.name}", highlight=False)
    if failed:
        raise typer.Exit(1)

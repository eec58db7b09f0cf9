"""``fairlevel data list``: list tables, their suites, and whether they are available."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from fairlevel.data.catalogue import SUITES, Entry, catalogue, suite


def data_list(
    name: Annotated[str, typer.Option("--suite", help=f"One of: {', '.join(SUITES)}.")] = "all",
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of tables; without it, tables come from OpenML.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """List the tables of the catalogue, and other tables of the folder."""
    from fairlevel.data.sources import resolve_source

    source = resolve_source(data_dir)
    known = catalogue()
    slugs = suite(name, tuple({*known, *source.slugs}))
    entries = [known.get(slug) or Entry(slug, slug) for slug in slugs]
    if as_json:
        print(json.dumps([asdict(entry) | {"available": entry.slug in source.slugs} for entry in entries]))
        return
    table = Table(title=f"{len(entries)} tables; source: {source.name}")
    for heading in ("slug", "title", "OpenML", "suites", "available"):
        table.add_column(heading)
    for entry in entries:
        number = "" if entry.openml_id is None else str(entry.openml_id)
        here = "yes" if entry.slug in source.slugs else "no"
        table.add_row(entry.slug, entry.title, number, ", ".join(entry.suites), here)
    Console(markup=False).print(table)

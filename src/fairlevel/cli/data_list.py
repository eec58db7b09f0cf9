"""``fairlevel data list``: list tables, their suites, and whether they are available."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from fairlevel.cli.talk import Json, Quiet, Talk
from fairlevel.data.catalogue import SUITES, Entry, catalogue, suite

EXAMPLE = "fairlevel data list --suite quick"


def data_list(
    name: Annotated[str, typer.Option("--suite", help=f"One of: {', '.join(SUITES)}.")] = "all",
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of tables; without it, tables come from OpenML.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """List the tables of the catalogue, and other tables of the folder."""
    from fairlevel.data.sources import resolve_source

    source = resolve_source(data_dir)
    known = catalogue()
    slugs = suite(name, tuple({*known, *source.slugs}))
    entries = [known.get(slug) or Entry(slug, slug) for slug in slugs]
    talk = Talk(quiet, as_json)
    tables = [asdict(entry) | {"available": entry.slug in source.slugs} for entry in entries]
    talk.result(source=source.name, tables=tables)
    talk.say(f"{len(entries)} tables; source: {source.name}")
    table = Table()
    for heading in ("slug", "title", "OpenML", "suites", "available"):
        table.add_column(heading, no_wrap=heading == "slug")
    for entry in entries:
        number = "" if entry.openml_id is None else str(entry.openml_id)
        here = "yes" if entry.slug in source.slugs else "no"
        table.add_row(entry.slug, entry.title, number, ", ".join(entry.suites), here)
    talk.say(table)

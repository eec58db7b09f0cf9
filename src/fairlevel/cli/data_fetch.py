"""``fairlevel data fetch``: download tables before a run, or check those of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairlevel.cli.options import read_names
from fairlevel.cli.talk import Json, Quiet, Talk
from fairlevel.data.catalogue import SUITES, suite
from fairlevel.exceptions import FairLevelError
from fairlevel.progress import share_of

EXAMPLE = "fairlevel data fetch quick"


def data_fetch(
    names: Annotated[str, typer.Argument(help="Suites or tables, comma-separated.")],
    data_dir: Annotated[
        Path | None, typer.Option(help="Check the tables of this folder instead of downloading.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Download tables into the cache, or check those of a folder; every failure is listed."""
    from fairlevel.data.sources import resolve_source

    talk, source = Talk(quiet, as_json), resolve_source(data_dir)
    slugs = [slug for name in read_names(names) for slug in (suite(name, source.slugs) if name in SUITES else (name,))]
    slugs = list(dict.fromkeys(slugs))
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
                continue
            rows, columns = table.features.shape
            fetched[slug] = {"rows": rows, "features": columns, "target": table.target.name}
            talk.say(f"{slug}: {rows:,} rows, {columns} features, target {table.target.name}")
    talk.result(source=source.name, tables=fetched, failed=failed)
    if failed:
        raise typer.Exit(1)

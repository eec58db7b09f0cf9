"""``fairlevel bench report``: figures, tables and an HTML page from the results of a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairlevel.cli.talk import Json, Quiet, Talk, shown_path
from fairlevel.progress import stage

EXAMPLE = "fairlevel bench report --out bench"


def bench_report(
    out: Annotated[Path, typer.Option(help="Folder of results; the report is written to its subfolder report.")] = Path(
        "bench"
    ),
    rows: Annotated[Path | None, typer.Option(help="Read results from this Parquet file instead.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Analyse a finished or running study: report.html, figures as PNG and SVG, tables as CSV, all rows as Parquet."""
    talk, folder = Talk(quiet, as_json), out / "report"
    with talk.working() as warned:
        stage("loading libraries")
        from fairlevel.benchmark.report import build_report
        from fairlevel.benchmark.store import Store, read_rows
        from fairlevel.cli.files import write_table
        from fairlevel.report.render import write_page

        stage("reading results")
        found = Store(out).read() if rows is None else read_rows(rows)
        stage("comparing methods")
        report = build_report(found)
        stage("writing figures and tables")
        folder.mkdir(parents=True, exist_ok=True)
        report.save_figures(folder)
        write_table(found, folder / "rows.parquet")
        stage("writing the page")
        write_page(report.page, folder / "report.html")
    talk.say(report.page.summary)
    talk.say(f"report: {shown_path(folder / 'report.html')}")
    talk.result(
        report=folder / "report.html",
        rows=folder / "rows.parquet",
        summary=report.page.summary,
        tables={name: folder / f"{name}.csv" for name in report.tables},
        warnings=warned,
    )

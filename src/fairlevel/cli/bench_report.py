"""``fairlevel bench report``: figures, tables and an HTML page from the results of a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def bench_report(
    out: Annotated[Path, typer.Option(help="Folder of results; the report is written to its subfolder report.")] = Path(
        "bench"
    ),
    rows: Annotated[Path | None, typer.Option(help="Read results from this Parquet file instead.")] = None,
) -> None:
    """Analyse a finished or running study: report.html, figures as PNG and SVG, tables as CSV, all rows as Parquet."""
    from fairlevel.benchmark.report import build_report
    from fairlevel.benchmark.store import Store, read_rows
    from fairlevel.cli.files import write_table
    from fairlevel.report.render import write_page

    found = Store(out).read() if rows is None else read_rows(rows)
    report = build_report(found)
    folder = out / "report"
    folder.mkdir(parents=True, exist_ok=True)
    report.save_figures(folder)
    write_table(found, folder / "rows.parquet")
    write_page(report.page, folder / "report.html")
    Console(markup=False).print(f"{report.page.summary} {folder / 'report.html'}", highlight=False, soft_wrap=True)

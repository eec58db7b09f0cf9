"""Write the results page of the study from its rows: python docs/support/study_page.py

docs/results/study.md (tables and verdicts between two marks; the text around them stays), study-report.html
(everything, one file; the site makes study.html of study.md) and two figures. A test compares the page with what these
functions give.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fairlevel.report.page import Charts, Folded, Notes, TableBlock
from fairlevel.report.render import write_page
from fairlevel_study.pages.report import Report, build_report
from fairlevel_study.rows import kept_rows

FOLDER = Path(__file__).parents[1] / "results"
ROWS, PAGE = FOLDER / "study.parquet", FOLDER / "study.md"
BEGIN, END = "<!-- numbers from study.parquet: python docs/support/study_page.py -->", "<!-- end of numbers -->"
FIGURES = ("wins-single-paper", "wins-default")


def numbers(report: Report | None, rows: pd.DataFrame) -> str:
    """Everything on the page that comes from rows, as Markdown."""
    if report is None:
        return "No rows yet: the run has not begun."
    tasks = rows.drop_duplicates(["dataset", "seed", "method"])
    lines = [
        f"So far {len(tasks):,} tasks, seeds {', '.join(map(str, sorted(tasks['seed'].unique())))}: "
        + report.page.summary
    ]
    lines += [f"![{drawn.alt}](study-{drawn.name}.png)" for drawn in report.figures if drawn.name in FIGURES]
    for section in report.page.sections:
        blocks = [block for block in section.blocks if isinstance(block, TableBlock | Notes)]
        folded = [inner for block in section.blocks if isinstance(block, Folded) for inner in block.blocks]
        if not any(isinstance(inner, Charts) for inner in folded):
            lines += [f"## {section.title}", *section.paragraphs, *map(_markdown, blocks)]
    return "\n\n".join(lines)


def page(text: str, inside: str) -> str:
    """The page with new numbers between the marks."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{inside}\n\n{END}{rest.partition(END)[2]}"


def study_report(rows: pd.DataFrame) -> Report | None:
    """The report on the rows, if there are any."""
    return None if rows.empty else build_report(rows)


def _markdown(block: TableBlock | Notes) -> str:
    if isinstance(block, Notes):
        return "\n".join(f"- {sentence}" for sentence in block.sentences)
    lines = [block.header, tuple("---" for _ in block.header), *block.rows]
    table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    return f"**{block.title}**{f' ({block.caption})' if block.caption else ''}\n\n{table}"


def main() -> None:
    """Write the page, the HTML file and the figures."""
    rows = kept_rows(ROWS)
    report = study_report(rows)
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), numbers(report, rows)), encoding="utf-8")
    if report is not None:
        write_page(report.page, FOLDER / "study-report.html")
        for drawn in report.figures:
            if drawn.name in FIGURES:
                drawn.figure.savefig(FOLDER / f"study-{drawn.name}.png", dpi=150)


if __name__ == "__main__":
    main()

"""Turn a page into one HTML file that needs no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fairlevel.data.whole_files import write_whole
from fairlevel.report.page import Page


def render(page: Page) -> str:
    """The page as HTML; text that comes from data is escaped."""

    def draw(*blocks: Any) -> Markup:
        return Markup("").join(getattr(macros, type(block).__name__)(block) for block in blocks)

    environment = Environment(
        loader=PackageLoader("fairlevel", "report/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["draw"] = draw
    macros = environment.get_template("blocks.html.j2").module
    return environment.get_template("page.html.j2").render(page=page)


def write_page(page: Page, path: Path) -> None:
    """Write the page; an existing file is replaced only when the new one is complete."""
    text = render(page)
    write_whole(path, lambda partial: partial.write_text(text, encoding="utf-8"))

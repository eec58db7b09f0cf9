"""Turn a page into one HTML file that needs no network."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from fairlevel.report.page import Page


def render(page: Page) -> str:
    """The page as HTML; text that comes from data is escaped."""
    environment = Environment(
        loader=PackageLoader("fairlevel", "report/templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2").render(page=page)


def write_page(page: Page, path: Path) -> None:
    """Write the page; an existing file is replaced only when the new one is complete."""
    text = render(page)
    with NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", delete=False, encoding="utf-8") as handle:
        partial = Path(handle.name)
        try:
            handle.write(text)
            handle.close()
            os.chmod(partial, 0o644)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

"""What the build of the site does beyond its plugins: formulas of docstrings, the look of pictures, absent tables."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
sys.path.insert(0, str(Path(__file__).parents[1]))  # pages import support.pictures and support.shell

from support.formulas import DocstringMarkup
from support.pages import why_missing, without_running
from support.pictures import STYLE

SCRATCH = Path("build/docs")  # where blocks with workdir= leave their files


def on_config(config: Any) -> Any:
    """Set the look of figures, and teach Markdown the two marks of our docstrings that are not Markdown."""
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    matplotlib.rcParams.update(STYLE)
    config["markdown_extensions"].append(DocstringMarkup())
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Show the code of a page without running it where the page's table cannot be had."""
    slug = page.meta.get("table")
    reason = why_missing(slug) if slug else None
    return markdown if reason is None else without_running(markdown, reason)

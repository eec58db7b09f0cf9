"""What the build of the site does beyond its plugins: formulas, links to files outside of docs, the API reference."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
sys.path.insert(0, str(Path(__file__).parents[1]))

from support.api import directives
from support.formulas import DocstringMarkup

HIDDEN = re.compile(r"^<!-- (?:run\n.*?^-->|end -->|table: \w+ -->)\n", re.DOTALL | re.MULTILINE)


def on_config(config: Any) -> Any:
    """Teach Markdown the marks of our docstrings and pages that are not Markdown."""
    config["markdown_extensions"].append(DocstringMarkup())
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Leave hidden code out of the site, and replace sentences about public names by their full reference."""
    return HIDDEN.sub("", directives(markdown))

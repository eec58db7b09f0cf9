"""Pages as text: front matter, code blocks, and the tables they need. Used by the build and by tests/docs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from html import escape
from textwrap import dedent
from typing import NamedTuple

from fairlevel.data.catalogue import catalogue
from fairlevel.data.sources import FOLDER_VARIABLE, OpenMLSource, resolve_source
from fairlevel.exceptions import FairLevelError

FENCE = re.compile(
    r"^(?P<indent> *)```python(?P<options>[^\n]*)\n(?P<code>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE
)


class Block(NamedTuple):
    """A Python block of a page: its options, such as ``{"exec": "true", "session": "law"}``, and its code."""

    options: Mapping[str, str]
    code: str


def blocks(text: str) -> list[Block]:
    """Every Python block of a page, in order."""
    return [
        Block(dict(re.findall(r'(\w+)="([^"]*)"', found["options"])), dedent(found["code"]))
        for found in FENCE.finditer(text)
    ]


def front_matter(text: str) -> dict[str, str]:
    """``name: value`` lines between the dashes at the top of a page."""
    found = re.match(r"---\n(.*?)\n---\n", text, flags=re.DOTALL)
    return dict(re.findall(r"^(\w+): *(.+)$", found[1], flags=re.MULTILINE)) if found else {}


@cache
def why_missing(slug: str) -> str | None:
    """None where a table of the catalogue can be read, else a sentence that says what is missing."""
    try:
        source = resolve_source()
        if isinstance(source, OpenMLSource) and catalogue()[slug].openml_id is None:
            return f"{slug} is not on OpenML: set {FOLDER_VARIABLE} to a data folder that has it."
        source.load(slug)
    except FairLevelError as error:
        return str(error)
    return None


def without_running(markdown: str, reason: str) -> str:
    """The page with its code as it stands, hidden blocks left out, and the reason on top."""

    def shown(found: re.Match[str]) -> str:
        if 'exec="true"' not in found["options"]:
            return found[0]
        plain = f"{found['indent']}```python\n{found['code']}{found['indent']}```"
        return plain if "source=" in found["options"] else ""

    title, _, rest = FENCE.sub(shown, markdown).partition("\n\n")
    note = f'!!! warning "Not run in this build"\n\n    {escape(reason)} The code below is shown without its results.'
    return f"{title}\n\n{note}\n\n{rest}"

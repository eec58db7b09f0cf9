"""The pages, and what stands in them, for the tests of this folder."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from support import api, options, pages  # noqa: E402

PAGES = pages.pages()
TERMINAL = re.compile(r"^```(?:sh|console)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^(?:\$ )?(fairlevel(?:-study)? .+)$", re.MULTILINE)


def name(page):
    return page.relative_to(ROOT).as_posix()


def text_of(page):
    return page.read_text(encoding="utf-8")


def commands_of(page):
    """Lines of a page that can be typed into a terminal."""
    return [line for block in TERMINAL.findall(text_of(page)) for line in COMMAND.findall(block)]


__all__ = ["PAGES", "ROOT", "api", "commands_of", "name", "options", "pages", "text_of"]

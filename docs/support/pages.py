"""Run the code of pages and write what it prints into them: ``python docs/support/pages.py [PAGE ...]``.

A page is Markdown that reads the same on a code host and on the site. Its code runs from top to bottom, in one
namespace per page and in an empty folder. Two marks are read:

- a fence ``python``: what it prints stands in a fence ``text`` behind it;
- ``<!-- run``, code, ``-->``, what the code prints, ``<!-- end -->``: readers see what was printed only.

``<!-- api NAME -->`` is followed by what that name does, from its docstring (see ``api.py``).

Hidden code can use ``picture(caption, alt)``, ``terminal(command)``, ``options(command)`` and
``source(file)`` without an import.
A page with ``<!-- table: NAME -->`` on its first line needs that table of the catalogue.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))  # as a script, this file imports its neighbours

from support.api import sentences  # noqa: E402
from support.options import options  # noqa: E402
from support.pictures import PictureFolder, drawing_style  # noqa: E402
from support.shell import terminal  # noqa: E402

PIECE = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?"
    r"|^<!-- run\n(?P<hidden>.*?)^-->\n(?P<written>.*?)^<!-- end -->\n",
    re.DOTALL | re.MULTILINE,
)
TABLE = re.compile(r"<!-- table: (\w+) -->\n")


class Piece(NamedTuple):
    """Code of a page, what stands there as its output, whether readers see the code, and its first line."""

    code: str
    output: str
    visible: bool
    line: int


def pages() -> list[Path]:
    """The README and all pages."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def pieces(text: str) -> Iterator[Piece]:
    """The code of a page from top to bottom."""
    for found in PIECE.finditer(text):
        line = text.count("\n", 0, found.start()) + 2
        if found["code"] is not None:
            yield Piece(found["code"], found["shown"] or "", True, line)
        else:
            yield Piece(found["hidden"], found["written"].strip(), False, line)


def needed_table(text: str) -> str | None:
    """The table of the catalogue that a page needs."""
    found = TABLE.match(text)
    return found[1] if found else None


def outputs(page: Path, pictures: Path) -> list[str]:
    """What each piece of a page prints. Figures are saved in the folder ``pictures``."""
    folder = PictureFolder(page, pictures)
    names = {"__name__": "page", "picture": folder.picture, "terminal": terminal, "options": options, "source": source}
    printed = []
    with TemporaryDirectory() as scratch, chdir(scratch), drawing_style():
        for piece in pieces(page.read_text(encoding="utf-8")):
            shown = StringIO()
            with redirect_stdout(shown):
                exec(compile("\n" * (piece.line - 1) + piece.code, str(page), "exec"), names)
            lines = [line.rstrip() for line in shown.getvalue().rstrip().split("\n")]
            printed.append("\n".join(lines) + "\n" if any(lines) else "")
    return printed


def source(file: str) -> None:
    """Print a file of the repository as a block."""
    print(f"```py\n{(ROOT / file).read_text(encoding='utf-8')}```")


def with_outputs(text: str, printed: list[str]) -> str:
    """The page with new outputs in the places of the old ones."""
    rest = iter(printed)

    def written(found: re.Match[str]) -> str:
        output = next(rest)
        if found["code"] is None:
            return f"<!-- run\n{found['hidden']}-->\n" + (f"\n{output}\n" if output else "") + "<!-- end -->\n"
        return f"```python\n{found['code']}```\n" + (f"\n```text\n{output}```\n" if output else "")

    return PIECE.sub(written, text)


def main(chosen: list[str]) -> None:
    """Run pages, all or those that are named, and write them anew."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for page in [Path(name).resolve() for name in chosen] or pages():
        print(page.relative_to(ROOT), flush=True)
        printed = outputs(page, ROOT / "docs/pictures" / page.stem)
        text = with_outputs(page.read_text(encoding="utf-8"), printed)
        page.write_text(sentences(text), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

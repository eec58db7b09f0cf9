"""Every Python block of the README and the docs runs, those that the build of the site executes in its order."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from support.pages import blocks, front_matter, why_missing  # noqa: E402

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def scripts(path):
    """A page as scripts, name -> blocks: the executed blocks of one session are one script, any other block is its
    own."""
    found = {}
    for number, block in enumerate(blocks(path.read_text(encoding="utf-8"))):
        session = block.options.get("session")
        found.setdefault(str(number) if session is None else session, []).append(block.code)
    return found


def marks(path):
    """Pages that say they are heavy wait for `make study`."""
    return [pytest.mark.study] if "heavy" in front_matter(path.read_text(encoding="utf-8")) else []


SCRIPTS = [
    pytest.param(path, script, id=f"{path.relative_to(ROOT)}:{name}", marks=marks(path))
    for path in PAGES
    for name, script in scripts(path).items()
]


def test_there_are_blocks():
    assert SCRIPTS


@pytest.mark.parametrize(("path", "script"), SCRIPTS)
def test_blocks_run(path, script, tmp_path, monkeypatch):
    slug = front_matter(path.read_text(encoding="utf-8")).get("table")
    if slug and (reason := why_missing(slug)):
        pytest.skip(reason)
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "documentation"}
    for block in script:
        exec(compile(block, str(path), "exec"), names)

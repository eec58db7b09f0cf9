"""The site has every page and every public name, builds without a warning, and needs nothing from elsewhere."""

import importlib
import re
import subprocess
import sys

import pytest
from pages_of_docs import PAGES, ROOT, commands_of, name, options, text_of

import fairlevel
from fairlevel.cli import COMMANDS

LOADED = re.compile(r'<(?:script|link|img|iframe)\b[^>]*?(?:src|href)="?(https?://[^"> ]+)')
LINES = [(name(page), line) for page in PAGES for line in commands_of(page)]


def test_the_reference_names_everything_that_is_public():
    named = re.findall(r"^<!-- api fairlevel\.(\w+)(?::| -->)", text_of(ROOT / "docs/api.md"), re.MULTILINE)
    assert sorted(named) == sorted(fairlevel.__all__)


def test_every_command_has_a_section():
    sections = re.findall(r"^## (.+)$", text_of(ROOT / "docs/command-line.md"), re.MULTILINE)
    assert sorted(set(COMMANDS) - set(sections)) == []


@pytest.mark.parametrize(("page", "line"), LINES, ids=[f"{page}-{place}" for place, (page, _) in enumerate(LINES)])
def test_commands_on_pages_exist_with_their_options(page, line):
    program, *words = line.partition("#")[0].split()
    command = " ".join(words[:2]) if words[0] == "data" else words[0]
    if command in ("--help", "--version", "COMMAND"):
        return
    command = command if program == "fairlevel" else f"{program} {command}"
    known = {option for each in options.parameters(command) for option in (*each.opts, *each.secondary_opts)}
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known | {"--help"}


def test_the_gallery_shows_every_display():
    files = [path.stem for path in (ROOT / "src/fairlevel/plots").glob("*.py") if path.stem != "__init__"]
    modules = [importlib.import_module(f"fairlevel.plots.{file}") for file in files]
    displays = {word for module in modules for word in vars(module) if word.endswith("Display")}
    gallery = text_of(ROOT / "docs/gallery.md")
    assert len(displays) >= 2
    assert sorted(word for word in displays if f"{word}.from_" not in gallery) == []


def test_the_site_builds_strictly_and_loads_nothing_from_elsewhere(tmp_path):
    """Every page is in the navigation, and every link and anchor leads somewhere. With ``--quiet``, ``--strict`` would
    overlook warnings.
    """
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) > 20
    loaded = {page.name: LOADED.findall(page.read_text(encoding="utf-8")) for page in pages}
    assert {name: addresses for name, addresses in loaded.items() if addresses} == {}

"""The site builds without a warning, needs nothing from elsewhere, and can do without tables that are out of reach."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fairlevel

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from support.pages import blocks, why_missing, without_running  # noqa: E402

LOADED = re.compile(r'<(?:script|link|img|iframe)\b[^>]*?(?:src|href)="?(https?://[^"> ]+)')


@pytest.fixture
def fresh_answers():
    why_missing.cache_clear()
    yield
    why_missing.cache_clear()


def test_the_reference_names_everything_that_is_public():
    named = re.findall(r"^::: fairlevel\.(\w+)$", (ROOT / "docs/api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(fairlevel.__all__)


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if not re.search(rf"[ :]{re.escape(page)}$", navigation, re.MULTILINE)] == []


def test_a_table_without_openml_id_asks_for_a_folder(fresh_answers, monkeypatch):
    monkeypatch.delenv("FAIRLEVEL_DATA_DIR", raising=False)
    assert "FAIRLEVEL_DATA_DIR" in why_missing("law_school")


def test_a_folder_without_the_table_is_told(fresh_answers, monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRLEVEL_DATA_DIR", str(tmp_path))
    assert "MANIFEST.csv" in why_missing("law_school")


def test_a_page_without_its_table_shows_code_and_says_why():
    page = (ROOT / "docs/examples/law-school.md").read_text(encoding="utf-8").partition("---\n\n")[2]
    shown = without_running(page, "The table is on holiday.")
    assert 'exec="true"' not in shown
    assert shown.startswith("# Law school")
    assert shown.index("on holiday") < shown.index("## ")
    visible = [block.code for block in blocks(page) if "source" in block.options]
    assert [block.code for block in blocks(shown)] == visible


@pytest.mark.study
def test_the_site_builds_strictly_and_loads_nothing_from_elsewhere(tmp_path):
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("mkdocs is not installed: pip install '.[docs]'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) > 20
    loaded = {page.name: LOADED.findall(page.read_text(encoding="utf-8")) for page in pages}
    assert {name: addresses for name, addresses in loaded.items() if addresses} == {}

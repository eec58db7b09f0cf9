"""Notebooks are committed with what they printed, without errors, and use public names only."""

import ast
import json
import re

import pytest
from pages_of_docs import ROOT, text_of

NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))
LARGEST = 200_000  # bytes


def code_cells(path):
    return [cell for cell in json.loads(text_of(path))["cells"] if cell["cell_type"] == "code"]


def python_of(cell):
    """The code of a cell without lines for the shell."""
    return "".join(line for line in cell["source"] if not line.startswith(("!", "%")))


def test_there_are_notebooks_and_a_page_links_to_them():
    linked = re.findall(r"\]\(([\w-]+\.ipynb)\)", text_of(ROOT / "docs/notebooks/index.md"))
    assert sorted(linked) == [path.name for path in NOTEBOOKS] != []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_has_run_without_an_error(path):
    assert path.stat().st_size < LARGEST
    for number, cell in enumerate(code_cells(path), 1):
        assert cell["execution_count"] == number
        assert cell["outputs"], f"cell {number} shows nothing"
        kinds = {output["output_type"] for output in cell["outputs"]}
        assert "error" not in kinds
        shown = "".join(text for output in cell["outputs"] for text in output.get("text", []))
        assert not re.search(r"Traceback|command not found|No module named|^error:", shown, re.MULTILINE)
        assert not re.search(r"(^|[\s'\"])/\w+/", shown), "an absolute path of one machine"
        assert all(output.get("name") != "stderr" for output in cell["outputs"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_code_compiles_and_imports_names_of_the_reference(path):
    listed = set(re.findall(r"^<!-- api ([\w.]+)", text_of(ROOT / "docs/api.md"), re.MULTILINE))
    used = {
        f"{node.module}.{name.name}"
        for cell in code_cells(path)
        for node in ast.walk(ast.parse(python_of(cell)))
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "fairlevel"
        for name in node.names
    }
    assert used
    assert sorted(used - listed) == []

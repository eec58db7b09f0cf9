"""Every Python block of the README and the docs runs."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[2]
BLOCKS = [
    pytest.param(block, id=f"{path.relative_to(ROOT)}:{number}")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), flags=re.DOTALL))
]


def test_there_are_blocks():
    assert BLOCKS


@pytest.mark.parametrize("block", BLOCKS)
def test_block_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "documentation", "exec"), {"__name__": "documentation"})
    plt.close("all")

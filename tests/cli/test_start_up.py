"""Help and mistakes are answered before anything heavy is imported."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd

from fairlevel import FairRegressor, TableEncoder
from fairlevel.candidates import SOURCES
from fairlevel.cli import COMMANDS
from fairlevel.predictors import PREDICTORS

HEAVY = ("torch", "sklearn", "pandas", "scipy", "lightgbm", "matplotlib")
SCRIPT = f"""
import contextlib, io, json, sys
from fairlevel.cli import app
found = {{}}
for line in json.loads(sys.argv[1]):
    sys.argv, text = ["fairlevel", *line], io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        try:
            app()
        except SystemExit as end:
            code = end.code
    found[" ".join(line)] = [code, [name for name in {HEAVY} if name in sys.modules], text.getvalue()]
print(json.dumps(found))
"""


def answers(lines, folder):
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(lines)], capture_output=True, text=True, check=True, cwd=folder
    )
    return json.loads(run.stdout)


def test_help_imports_nothing_heavy(tmp_path):
    lines = [*([*command.split(), "--help"] for command in COMMANDS), ["--help"], ["--version"], ["nonsense"]]
    for line, (code, heavy, text) in answers(lines, tmp_path).items():
        assert (code, heavy) == (2 if line == "nonsense" else 0, []), line
        assert "Usage" in text or line == "--version"


def test_help_names_what_there_is(tmp_path):
    """Texts, because the tables that they name would import PyTorch."""
    known = {"front": (*SOURCES, *PREDICTORS)}
    for command, (_, _, text) in answers([[*name.split(), "--help"] for name in known], tmp_path).items():
        words = set(re.sub(r"[^\w]", " ", text).split())
        assert set(known[command.removesuffix(" --help")]) <= words


def test_mistakes_import_nothing_heavy(tmp_path):
    (tmp_path / "rows.csv").write_text("age;pay\n1;2\n3;4\n", encoding="utf-8")
    (tmp_path / "front").mkdir()
    front = ["front", "rows.csv", "--target", "pay", "--sensitive", "age"]
    mistakes = {
        "does not exist": ["front", "no.csv", "--target", "pay", "--sensitive", "age", "--out", "new"],
        "Did you mean 'pay'": ["front", "rows.csv", "--target", "pai", "--sensitive", "age", "--out", "new"],
        "exists; choose another": front,
        "max_share": [*front, "--out", "new", "--max-share", "7"],
        "column of rows.csv": ["audit", "rows.csv", "--prediction", "other", "--sensitive", "age"],
        "ends in '.xlsx'": ["compare", "rows.xlsx", "--predictions", "a,b", "--sensitive", "age"],
        "'model.txt' does not exist": ["relevel", "model.txt", "rows.csv", "--sensitive", "age"],
        "holds no model": ["predict", "front", "rows.csv", "--out", "new.csv"],
        "type fairlevel-study run.": ["bench", "run", "--protocol", "small"],
        "run, status, report, synthetic or keep.": ["bench", "--help"],
        "type fairlevel-study data fetch.": ["data", "fetch", "quick"],
        "type fairlevel-study data synthetic.": ["synthetic", "--out", "rows.csv"],
    }
    found = answers(list(mistakes.values()), tmp_path)
    for says, line in mistakes.items():
        code, heavy, text = found[" ".join(line)]
        assert (code, heavy) == (2, []), text
        assert says in " ".join(text.split())


def test_prediction_needs_no_pytorch(tmp_path):
    x = pd.DataFrame(np.random.default_rng(0).standard_normal((80, 2)), columns=["u", "v"])
    for name, encoder in (("linear", TableEncoder()), ("boosting", None)):
        FairRegressor(0.0, predictor=name, encoder=encoder).fit(x, x["u"]).save(tmp_path / name)
    x.to_csv(tmp_path / "rows.csv", index=False)
    lines = [["predict", name, "rows.csv", "--out", f"{name}.csv"] for name in ("linear", "boosting")]
    for code, heavy, text in answers(lines, tmp_path).values():
        assert code == 0, text
        assert "torch" not in heavy
    assert len(pd.read_csv(tmp_path / "boosting.csv")) == 80

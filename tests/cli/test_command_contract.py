"""What every command keeps: quiet is quiet, JSON is one object on standard output, and help ends with an example."""

import json
import shlex
from functools import partial
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import pytest
from typer.main import get_command

from fairlevel import FairnessPath, FairRegressor, cli
from fairlevel.cli import COMMANDS, demo, program
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.networks.optimizers import Adam
from fairlevel.predictors import Boosting
from tests.terminal import run_here

LINEAR = ("--method", "fbo_closed", "--predictor", "linear")
LINES = {
    "demo": ["demo", "--out", "demo"],
    "audit": ["audit", "my rows.csv", "--prediction", "old", "--sensitive", "age", "--target", "y"],
    "compare": ["compare", "my rows.csv", "--predictions", "old,new", "--sensitive", "age"],
    "front": ["front", "my rows.csv", "--target", "y", "--sensitive", "age", *LINEAR, "--out", "my front"],
    "relevel": ["relevel", "model.txt", "my rows.csv", "--sensitive", "age", "--target", "y", "--drop", "old,new"],
    "predict": ["predict", "model", "my rows.csv", "--out", "found.csv"],
}
"""A line of every command that works, in this order: later lines read what earlier ones wrote."""

KEYS = {
    "demo": {"fronts"},
    "audit": {"accuracy", "verdicts", "rows_left_out", "report"},
    "compare": {"p_value", "predictions", "rows_left_out"},
    "front": {"rows", "rows_left_out", "rows_for_accuracy_only", "report", "models", "front", "budget_met"},
    "relevel": {"rows", "rows_left_out", "report", "models", "front"},
    "predict": {"rows", "out", "columns"},
}


def few_rows():
    rows = SyntheticDesign(attributes=1).sample(150, seed=0).to_frame()
    return demo.Example("few rows", rows.filter(regex="^x"), rows["y"], rows[["a1"]], predictor="linear")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A table, a model of LightGBM and a saved one."""
    here = tmp_path_factory.mktemp("contract")
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.standard_normal((240, 3)), columns=["age", "u", "v"])
    table["y"] = table["u"] + table["age"] + 0.1 * random.standard_normal(240)
    table["old"], table["new"] = table["u"] + table["age"], table["u"]
    table.to_csv(here / "my rows.csv", index=False)
    grown = lightgbm.train({"verbosity": -1, "num_leaves": 6}, lightgbm.Dataset(table[["u", "v"]], table["y"]), 15)
    grown.save_model(here / "model.txt")
    model = FairRegressor(predictor=Boosting(rounds=5), random_state=0)
    model.fit(table[["u", "v"]], table["y"], sensitive_features=table[["age"]])
    model.save(here / "model", notes={"sensitive": ["age"]})
    return here


@pytest.fixture(scope="module")
def runs(home):
    """Every command twice: for people, and for programs, quietly."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        quick = partial(FairnessPath, solver="spectral", optimizer=Adam(steps=10))
        patch.setattr("fairlevel.estimators.fairness_path.FairnessPath", quick)
        for example in ("_diabetes", "_synthetic"):
            patch.setattr(f"fairlevel.cli.demo.{example}", few_rows)
        patch.setattr("fairlevel.estimators.path_fit.POINTS", 4)
        patch.setattr("fairlevel.fronts.evaluation.SHARE_POINTS", 2)
        for name, line in LINES.items():
            again = ["--force"] if name in ("front", "relevel") else []
            found[name] = run_here(*line, columns=80), run_here(*line, *again, "--json", "--quiet")
    return found


def test_there_is_a_line_for_every_command():
    assert set(LINES) == set(COMMANDS) == set(KEYS)


@pytest.mark.parametrize("name", LINES)
def test_json_is_one_object_and_quiet_is_quiet(name, runs):
    said, as_json = runs[name]
    assert said.returncode == as_json.returncode == 0, said.stderr
    assert said.stdout
    assert not any("!" not in line for line in as_json.stderr.splitlines()), as_json.stderr  # warnings alone
    found = json.loads(as_json.stdout, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert isinstance(found, dict)
    assert as_json.stdout.count("\n") == 1
    assert KEYS[name] <= set(found)


@pytest.mark.parametrize("name", LINES)
def test_lines_fit_a_terminal(name, runs):
    """Tables are drawn within 80 columns; sentences are left to the terminal, so that they can be copied."""
    for line in runs[name][0].stdout.splitlines():
        if set(line) & set("│┃┡└"):
            assert len(line.rstrip()) <= 80
            assert "…" not in line


@pytest.mark.parametrize("name", ["compare", "predict"])
def test_quiet_alone_prints_nothing_and_json_alone_keeps_sentences_apart(name, runs, home, monkeypatch):
    """On commands that are quick; all speak through the same object."""
    monkeypatch.chdir(home)
    quiet, as_json = run_here(*LINES[name], "--quiet"), run_here(*LINES[name], "--json", columns=80)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    assert json.loads(as_json.stdout) == json.loads(runs[name][1].stdout)
    assert as_json.stderr == runs[name][0].stdout


def test_commands_speak_through_one_object():
    for name in COMMANDS:
        source = Path(cli.__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
        assert "Console(" not in source
        assert "print(" not in source


def test_what_comes_next_works_when_copied(runs, home, monkeypatch):
    monkeypatch.chdir(home)
    lines = [line for said, _ in runs.values() for line in said.stdout.splitlines() if line.startswith("next: ")]
    words = [shlex.split(line.removeprefix("next: ")) for line in lines]
    assert [each[1] for each in words] == ["predict", "audit"]
    for each in words:
        if each[1] == "predict":
            done = run_here(*each[1:])
            assert done.returncode == 0, done.stderr
        else:
            command(each[1]).make_context("", each[2:])


def command(name):
    return get_command(program).commands[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_explains_every_option_and_ends_with_an_example(name):
    made = command(name)
    for parameter in made.params:
        assert parameter.help, parameter.name
        assert parameter.help[0].isupper(), parameter.name
        assert parameter.help.endswith("."), parameter.name
    help_text = run_here(name, "--help", columns=80).stdout
    example = help_text.strip().splitlines()[-1].strip()
    words = shlex.split(example.removeprefix("Example: "))
    assert words[:2] == ["fairlevel", name]
    made.make_context(name, words[2:])  # its options exist

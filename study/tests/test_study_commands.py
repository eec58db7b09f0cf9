"""The commands of fairlevel-study, as people and programs meet them."""

import json
import os
import shlex

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command

import fairlevel
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel_study import cli
from fairlevel_study.executors import EXECUTORS
from fairlevel_study.methods import SUITES
from fairlevel_study.protocol import PROTOCOLS
from study.tests.quick_studies import InThisProcess, run_study, use_few_steps_here
from study.tests.test_tables import make_folder
from study.tests.test_tables import table as small_table

TINY = ("--protocol", "small", "--data-dir", "data")
LINES = {
    "run": ["--suite", "one", "--seeds", "0", "--methods", "r2", *TINY],
    "keep": ["--into", "kept.parquet"],
    "status": [],
    "report": [],
    "synthetic": ["--beta", "1", "--rows", "120", "--seeds", "0", "--methods", "r2"],
    "data list": ["--suite", "quick"],
    "data fetch": ["no-such-table"],
    "data synthetic": ["--out", "my design.csv", "--rows", "50", "--attributes", "2"],
}
"""A line of every command; data fetch alone fails. Later lines read what earlier ones wrote."""

KEYS = {
    "run": {"finished", "tasks", "failed", "out"},
    "keep": {"file", "rows", "tasks"},
    "status": {"finished", "tasks", "counts"},
    "report": {"report", "rows", "tables"},
    "synthetic": {"models", "diverged", "budgets"},
    "data list": {"source", "tables"},
    "data fetch": {"tables", "failed"},
    "data synthetic": {"rows", "out"},
}


def run(*arguments):
    return run_study(*arguments, columns=200)


def commands():
    """Every command by its words."""
    root = get_command(cli.study)
    found = {name: command for name, command in root.commands.items() if name != "data"}
    return found | {f"data {name}": command for name, command in root.commands["data"].commands.items()}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Every command twice: for people, and for programs, quietly."""
    here = tmp_path_factory.mktemp("study")
    (here / "data").mkdir()
    make_folder(here / "data", one=small_table())
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        use_few_steps_here(patch)
        patch.setitem(EXECUTORS, "local", InThisProcess)
        patch.setattr("fairlevel_study.pages.report.Report.save_figures", lambda report, folder: None)
        patch.setattr("fairlevel_study.cli.draw_designs", lambda rows, dpvar, stem: None)
        for name, words in LINES.items():
            line = [*name.split(), *words]
            found[name] = run_study(*line, columns=80), run_study(*line, "--json", "--quiet")
    return found


def test_there_is_a_line_for_every_command():
    assert set(LINES) == set(commands()) == set(KEYS)


@pytest.mark.parametrize("name", LINES)
def test_json_is_one_object_and_quiet_is_quiet(name, runs):
    said, as_json = runs[name]
    failing = name == "data fetch"
    assert said.returncode == as_json.returncode == int(failing), said.stderr
    assert bool(said.stdout) != failing
    assert not any("!" not in line for line in as_json.stderr.splitlines()), as_json.stderr  # warnings alone
    assert as_json.stdout.count("\n") == 1
    assert KEYS[name] <= set(json.loads(as_json.stdout))
    drawn = [line for line in said.stdout.splitlines() if set(line) & set("│┃┡└")]
    assert all(len(line.rstrip()) <= 80 and "…" not in line for line in drawn)


def test_what_comes_next_is_a_command(runs):
    lines = [line for said, _ in runs.values() for line in said.stdout.splitlines() if line.startswith("next: ")]
    assert [shlex.split(line)[1:3] for line in lines] == [["fairlevel-study", "report"], ["fairlevel", "front"]]
    commands()["report"].make_context("", shlex.split(lines[0])[3:])


@pytest.mark.parametrize("name", LINES)
def test_help_explains_every_option_and_ends_with_an_example(name):
    command = commands()[name]
    for parameter in command.params:
        if parameter.name != "help":
            assert parameter.help[0].isupper(), parameter.name
            assert parameter.help.endswith("."), parameter.name
    example = run(*name.split(), "--help").stdout.strip().splitlines()[-1].strip()
    words, count = shlex.split(example.removeprefix("Example: ")), len(name.split())
    assert words[: count + 1] == ["fairlevel-study", *name.split()]
    command.make_context(name, words[count + 1 :])  # its options exist


def test_help_names_what_there_is():
    text = run("run", "--help").stdout.replace(",", " ").replace("│", " ").replace(";", " ").split()
    assert {*PROTOCOLS, *EXECUTORS, *SUITES} - set(text) == set()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("fairlevel-study run --methods paper,our", ["paper,ours"]),
        ("fairlevel-study run --suite openml60,quic", ["openml60,quick"]),
        ("fairlevel-study run --protocol sm", ["small"]),
        ("fairlevel-study data fetch abal", ["abalone"]),
    ],
)
def test_what_the_tab_key_offers(words, expected, monkeypatch):
    monkeypatch.setenv("_FAIRLEVEL_STUDY_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    assert run_study().stdout.split() == expected


def test_version():
    result = run("--version")
    assert (result.returncode, result.stdout.strip()) == (0, f"fairlevel-study {fairlevel.__version__}")


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_synthetic_writes_the_design(tmp_path, name):
    result = run(
        "data",
        "synthetic",
        "--rows",
        "50",
        "--beta-int",
        "3",
        "--attributes",
        "4",
        "--seed",
        "2",
        "--out",
        str(tmp_path / name),
    )
    assert result.returncode == 0, result.stderr
    table = (pd.read_csv if name.endswith("csv") else pd.read_parquet)(tmp_path / name)
    expected = SyntheticDesign(beta_int=3.0, attributes=4).sample(50, seed=2)
    np.testing.assert_allclose(table["y"], expected.y)
    assert list(table.columns) == [f"a{k}" for k in range(1, 5)] + [f"x{j}" for j in range(1, 11)] + ["y"]
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--rows", "0", "--out", "t.csv"], "rows=0"),
        (["--out", "t.xlsx"], ".csv or .parquet"),
        (["--out", "nowhere/t.csv"], "does not exist"),
        (["--attributes", "0", "--out", "t.csv"], "attributes=0"),
        (["--seed", "-1", "--out", "t.csv"], "seed=-1"),
        (["--beta-int", "nan", "--out", "t.csv"], "beta_int"),
        (["--out", "/proc/t.csv"], "cannot be written"),
    ],
)
def test_bad_arguments_are_one_sentence_and_exit_code_two(tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    result = run("data", "synthetic", *arguments)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert not os.listdir(tmp_path)


def test_the_synthetic_study_writes_rows_tables_and_figures(tmp_path, monkeypatch):
    use_few_steps_here(monkeypatch)
    out = tmp_path / "bench"
    result = run("synthetic", "--beta", "1", "--rows", "120", "--seeds", "0", "--methods", "r2", "--out", str(out))
    assert result.returncode == 0, result.stderr
    assert "R²" in result.stdout
    written = {path.name for path in out.iterdir()}
    tables = {"rows.parquet", "budgets-paper.csv", "budgets-true.csv"}
    assert written == tables | {f"fronts-{kind}.{ending}" for kind in ("paper", "true") for ending in ("png", "svg")}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--protocol", "big"], "Known: adam, medium, paper, paper2k, small"),
        (["--methods", "fbi"], "Did you mean 'fbo'"),
        (["--methods", ","], "No methods"),
        (["--seeds", "2-1"], "smaller number first"),
        (["--seeds", "a"], "whole numbers are needed"),
        (["--rows", "20"], "at least 40 are needed"),
        (["--processes", "0"], "at least 1 is needed"),
        (["--beta", "nan"], "not finite"),
    ],
)
def test_the_synthetic_study_refuses_in_one_sentence(tmp_path, arguments, sentence):
    result = run("synthetic", "--out", str(tmp_path / "bench"), *arguments)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr

import os
from functools import partial

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import fairlevel
from fairlevel import FairnessPath, cli
from fairlevel.cli.front_folder import front_table
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.networks.optimizers import Adam
from tests.benchmark.quick_studies import use_few_steps_here
from tests.terminal import run_here


def run(*arguments):
    return run_here(*arguments, columns=200)


def test_every_command_file_is_in_the_table():
    import pkgutil

    helpers = {
        "audit_answer",
        "checks",
        "files",
        "front_folder",
        "model_files",
        "names",
        "options",
        "overlooked",
        "talk",
    }
    files = {module.name for module in pkgutil.iter_modules(cli.__path__)} - helpers
    assert files == {name.replace(" ", "_") for name in cli.COMMANDS}


def test_large_numbers_are_not_cut_off():
    row = {"mse": 151_802.0**2, "r2": 0.825, "dpvar": 37_440_266_123.0, "share": 0.382}
    row |= {"dpvar_low": 175_665.0**2, "dpvar_high": 213_670.0**2}
    console = Console(width=80)
    with console.capture() as shown:
        console.print(front_table({"most accurate": pd.Series(row), "knee": pd.Series(row)}))
    assert shown.get().count("37,440,266,123") == 2
    assert "…" not in shown.get()


def test_version():
    result = run("--version")
    assert (result.returncode, result.stdout.strip()) == (0, f"fairlevel {fairlevel.__version__}")


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_synthetic_writes_the_design(tmp_path, name):
    result = run(
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
    result = run("synthetic", *arguments)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert not os.listdir(tmp_path)


def test_demo_prints_tables_and_saves_reports_and_models(tmp_path, monkeypatch):
    quick = partial(FairnessPath, optimizer=Adam(steps=4))
    monkeypatch.setattr("fairlevel.estimators.fairness_path.FairnessPath", quick)
    monkeypatch.setattr("fairlevel.estimators.path_fit.POINTS", 4)
    monkeypatch.setattr("fairlevel.estimators.evaluation.SHARE_POINTS", 2)
    monkeypatch.setattr("fairlevel.cli.demo.SYNTHETIC_ROWS", 300)
    result = run("demo", "--out", str(tmp_path / "demo"))
    assert result.returncode == 0, result.stderr
    assert "95 % interval" in result.stdout
    for name in ("diabetes", "synthetic"):
        saved = tmp_path / "demo" / name
        assert sorted(os.listdir(saved)) == ["front.csv", "models", "report.html"]
        assert "Choose a model" in (saved / "report.html").read_text()
        assert str(saved / "report.html") in result.stdout


def test_bench_synthetic_writes_rows_tables_and_figures(tmp_path, monkeypatch):
    use_few_steps_here(monkeypatch)
    out = tmp_path / "bench"
    result = run(
        "bench", "synthetic", "--beta", "1", "--rows", "120", "--seeds", "0", "--methods", "r2", "--out", str(out)
    )
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
def test_bench_synthetic_refuses_in_one_sentence(tmp_path, arguments, sentence):
    result = run("bench", "synthetic", "--out", str(tmp_path / "bench"), *arguments)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr

import os
from functools import partial

import pandas as pd

import fairlevel
from fairlevel import FairnessPath, cli
from fairlevel.cli.front_folder import front_table
from fairlevel.cli.talk import Talk
from fairlevel.networks.optimizers import Adam
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
        "options",
        "own_process",
        "overlooked",
        "talk",
    }
    files = {module.name for module in pkgutil.iter_modules(cli.__path__)} - helpers
    assert files == set(cli.COMMANDS)


def test_large_numbers_are_not_cut_off(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    row = {"mse": 151_802.0**2, "r2": 0.825, "dpvar": 37_440_266_123.0, "share": 0.382}
    row |= {"dpvar_low": 175_665.0**2, "dpvar_high": 213_670.0**2}
    Talk(quiet=False, as_json=False).show(front_table({"most accurate": pd.Series(row), "knee": pd.Series(row)}))
    printed = capsys.readouterr().out
    assert printed.count("37,440,266,123") == 2
    assert "…" not in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_version():
    result = run("--version")
    assert (result.returncode, result.stdout.strip()) == (0, f"fairlevel {fairlevel.__version__}")


def test_demo_prints_tables_and_saves_reports_and_models(tmp_path, monkeypatch):
    quick = partial(FairnessPath, optimizer=Adam(steps=4))
    monkeypatch.setattr("fairlevel.estimators.fairness_path.FairnessPath", quick)
    monkeypatch.setattr("fairlevel.estimators.path_fit.POINTS", 4)
    monkeypatch.setattr("fairlevel.fronts.evaluation.SHARE_POINTS", 2)
    monkeypatch.setattr("fairlevel.cli.demo.SYNTHETIC_ROWS", 300)
    result = run("demo", "--out", str(tmp_path / "demo"))
    assert result.returncode == 0, result.stderr
    assert "95 % interval" in result.stdout
    for name in ("diabetes", "synthetic"):
        saved = tmp_path / "demo" / name
        assert sorted(os.listdir(saved)) == ["front.csv", "models", "report.html"]
        assert "Choose a model" in (saved / "report.html").read_text()
        assert str(saved / "report.html") in result.stdout

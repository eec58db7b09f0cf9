import os
import subprocess
import sys
from functools import partial

import pytest

import fairlevel
from fairlevel import FairnessPath, cli
from fairlevel.networks.optimizers import Adam
from tests.terminal import run_here


def run(*arguments):
    return run_here(*arguments, columns=200)


def test_every_command_file_is_in_the_table():
    import pkgutil

    helpers = {"checks", "csv_cells", "files", "front_folder", "front_table", "lazy", "model_files", "options", "talk"}
    helpers |= {"audit_answer", "audit_columns", "completion", "front_training", "names"}
    helpers |= {"decimal_points", "overlooked", "own_process", "audit_rows"}
    files = {module.name for module in pkgutil.iter_modules(cli.__path__)} - helpers
    assert files == set(cli.COMMANDS)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_explains_itself(name):
    result = run(name, "--help")
    assert result.returncode == 0, result.stderr
    assert f"Usage: fairlevel {name}" in result.stdout
    assert "--help" in result.stdout


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["nonsense"]])
def test_lists_of_commands_do_not_wait_for_pytorch(words):
    code = (
        "import sys; from fairlevel.cli import app\n"
        f"sys.argv = ['fairlevel', *{words}]\n"
        "try: app()\n"
        "finally: assert 'torch' not in sys.modules and 'sklearn' not in sys.modules"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "AssertionError" not in result.stderr
    assert result.returncode == (2 if words == ["nonsense"] else 0)


def test_version():
    result = run("--version")
    assert (result.returncode, result.stdout.strip()) == (0, f"fairlevel {fairlevel.__version__}")


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

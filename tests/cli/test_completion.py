"""The Tab key: what it offers, that the names are those of the package, and that nothing heavy is imported for it."""

import os
import subprocess
import sys

import pytest

from fairlevel import __version__
from fairlevel.candidates import SOURCES
from fairlevel.cli import options
from fairlevel.penalties import NAMES as PENALTIES
from fairlevel.predictors import PREDICTORS, WITH_NETWORKS
from fairlevel.releveling.reading import METHODS as WAYS_OF_RELEVEL
from tests.terminal import run_here


def offered(words, monkeypatch):
    """What bash is told at the end of this line."""
    monkeypatch.setenv("_FAIRLEVEL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    return run_here().stdout.split()


@pytest.mark.parametrize(
    ("written", "table"),
    [
        ("PENALTIES", PENALTIES),
        ("SOURCES", SOURCES),
        ("PREDICTORS", (*PREDICTORS, *WITH_NETWORKS)),
        ("WAYS_OF_RELEVEL", WAYS_OF_RELEVEL),
    ],
)
def test_names_are_those_of_the_package(written, table):
    assert sorted(getattr(options, written)) == sorted(table), f"update {written} in cli/options.py"


def test_the_help_of_relevel_names_all_ways():
    shown = run_here("relevel", "--help", columns=500).stdout.splitlines()
    (line,) = [line for line in shown if "--method" in line]
    assert [way for way in WAYS_OF_RELEVEL if way not in line] == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("fairlevel comp", ["compare"]),
        ("fairlevel front --sensitive-i", ["--sensitive-inputs"]),
        ("fairlevel front --method fbo_", ["fbo_closed", "fbo_root"]),
        ("fairlevel relevel model.txt rows.csv --method a", ["auto", "averages"]),
        ("fairlevel front rows.csv --target p", ["pay"]),
        ("fairlevel front rows.csv --target pay --sensitive age,", ["age,pay", "age,income"]),
        ("fairlevel front missing.csv --target p", []),
    ],
)
def test_what_is_offered(words, expected, tmp_path, monkeypatch):
    (tmp_path / "rows.csv").write_text("age,pay,income\n1,2,3\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert offered(words, monkeypatch) == expected


def test_python_m_fairlevel_completes_and_gives_its_version_without_heavy_imports(tmp_path):
    code = "import runpy, sys\ntry:\n    runpy.run_module('fairlevel', run_name='__main__')\nfinally:\n    " + (
        "print([name for name in ('torch', 'sklearn', 'pandas', 'scipy') if name in sys.modules])"
    )

    def said(*words, **settings):
        command = [sys.executable, "-c", code, *words]
        return subprocess.run(command, capture_output=True, text=True, env=os.environ | settings, check=True).stdout

    assert said("--version") == f"fairlevel {__version__}\n[]\n"
    at_front = {"COMP_WORDS": "fairlevel front --predictor m", "COMP_CWORD": "3"}
    assert said(_FAIRLEVEL_COMPLETE="complete_bash", **at_front) == "mlp\n[]\n"


def test_completion_can_be_shown_and_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))  # whatever runs the tests
    assert "complete -o default -F _fairlevel_completion fairlevel" in run_here("--show-completion", "bash").stdout
    assert run_here("--install-completion", "bash").returncode == 0
    assert "_FAIRLEVEL_COMPLETE=complete_bash" in next(tmp_path.rglob("fairlevel.sh")).read_text()

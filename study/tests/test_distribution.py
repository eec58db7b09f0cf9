"""What pip learns of fairlevel-study."""

import tomllib
from importlib.resources import files
from pathlib import Path

import fairlevel

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))


def test_it_belongs_to_one_version_of_fairlevel():
    assert PROJECT["project"]["version"] == fairlevel.__version__
    assert f"fairlevel[networks]=={fairlevel.__version__}" in PROJECT["project"]["dependencies"]


def test_files_beside_the_code_are_part_of_it():
    named = PROJECT["tool"]["setuptools"]["package-data"]["fairlevel_study"]
    there = {path.name for path in files("fairlevel_study").iterdir() if path.is_file() and path.suffix != ".py"}
    assert there == set(named)

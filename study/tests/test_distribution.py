"""What pip learns of fairlevel-study."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.resources import files
from pathlib import Path

import fairlevel

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))


def test_it_belongs_to_one_version_of_fairlevel():
    assert PROJECT["project"]["version"] == fairlevel.__version__
    assert f"fairlevel[networks]=={fairlevel.__version__}" in PROJECT["project"]["dependencies"]


def test_the_wheel_holds_the_study_and_its_command(tmp_path):
    project = shutil.copytree(
        Path(__file__).parents[1],
        tmp_path / "study",
        ignore=shutil.ignore_patterns("tests", "*.egg-info", "__pycache__"),
    )
    build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, tmp_path], cwd=project, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("fairlevel_study-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        entries = next(name for name in names if name.endswith("entry_points.txt"))
        assert "fairlevel-study = fairlevel_study.cli:app" in archive.read(entries).decode()
    packed = {name.removeprefix("fairlevel_study/") for name in names if name.startswith("fairlevel_study/")}
    source = project / "src" / "fairlevel_study"
    assert packed == {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}


def test_files_beside_the_code_are_part_of_it():
    named = PROJECT["tool"]["setuptools"]["package-data"]["fairlevel_study"]
    there = {path.name for path in files("fairlevel_study").iterdir() if path.is_file() and path.suffix != ".py"}
    assert there == set(named)

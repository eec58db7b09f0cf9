"""Folders that say in which order to read them name each of their files once."""

import re
from importlib import import_module
from pathlib import Path

import pytest

FOLDERS = ["auditing", "candidates", "conditional_mean", "data", "estimators", "fronts", "metrics", "training"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_has_its_place(folder):
    package = import_module(f"fairlevel.{folder}")
    files = [file.name for file in Path(package.__path__[0]).glob("*.py") if file.name != "__init__.py"]
    assert sorted(re.findall(r"``(\w+\.py)``", package.__doc__)) == sorted(files)

"""LightGBM's library is found in every layout of its package."""

import sys
from pathlib import Path

import pytest
from lightgbm.basic import _LIB

from fairlevel.trees.lightgbm_library import _library

ELSEWHERE = f"import ctypes\n_LIB = ctypes.cdll.LoadLibrary({_LIB._name!r})\n"


@pytest.mark.parametrize("place", ["lib", "bin", "elsewhere"])
def test_the_library_is_found_without_a_private_module(place, tmp_path, monkeypatch):
    """Wheels keep it in a folder of the package, none of whose modules runs; some distributions keep it elsewhere."""
    package = tmp_path / "lightgbm"
    package.mkdir()
    (package / "__init__.py").write_text("" if place == "elsewhere" else "raise AssertionError('imported')\n")
    if place == "elsewhere":
        (package / "basic.py").write_text(ELSEWHERE)
    else:
        (package / place).mkdir()
        (package / place / "lib_lightgbm.so").symlink_to(_LIB._name)
        (package / place / "lib_lightgbm.lib").touch()  # for linkers on Windows
    for name in [name for name in sys.modules if name.partition(".")[0] == "lightgbm"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    assert _library.__wrapped__()._handle == _LIB._handle
    assert place == "elsewhere" or Path(_library.__wrapped__()._name).is_relative_to(tmp_path)

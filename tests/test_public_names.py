import subprocess
import sys

import pytest

import fairlevel


def test_every_public_name_is_importable():
    for name in fairlevel.__all__:
        assert getattr(fairlevel, name).__doc__
        assert name in dir(fairlevel)


def test_importing_the_package_is_light():
    heavy = ("torch", "sklearn", "pandas", "matplotlib")
    code = f"import sys, fairlevel; sys.exit(any(name in sys.modules for name in {heavy}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_unknown_names_list_the_known():
    with pytest.raises(AttributeError, match="FairRegressor"):
        _ = fairlevel.FairClassifier

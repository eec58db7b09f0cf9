import ast
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import fairlevel

ALL_MODULES = """
import importlib.util, os, pkgutil, sys
for name in ("fcntl", "resource"):
    sys.modules[name] = None  # as on Windows: importing it fails
before = dict(os.environ)
import fairlevel
without = ".cuda_kernels", *(() if importlib.util.find_spec("torch") else (".networks", "fairlevel.torch"))  # Triton
for found in pkgutil.walk_packages(fairlevel.__path__, "fairlevel."):
    if not any(part in found.name for part in without):
        importlib.import_module(found.name)
        print(found.name)
changed = {name for name in {*before, *os.environ} if before.get(name) != os.environ.get(name)}
sys.exit(str(changed) if any(name.startswith(("OMP", "MALLOC", "FAIRLEVEL")) for name in changed) else 0)
"""


def test_every_public_name_is_importable():
    pytest.importorskip("torch")
    for name in fairlevel.__all__:
        assert getattr(fairlevel, name).__doc__
        assert name in dir(fairlevel)


def test_importing_the_package_is_light():
    heavy = ("torch", "sklearn", "pandas", "matplotlib")
    code = f"import sys, fairlevel; sys.exit(any(name in sys.modules for name in {heavy}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_importing_the_package_leaves_the_environment_alone():
    code = "import json, os; before = dict(os.environ); import fairlevel; print(json.dumps(before == dict(os.environ)))"
    given = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=given)
    assert json.loads(result.stdout) is True


def test_every_module_imports_without_what_windows_lacks():
    given = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    command = [sys.executable, "-c", ALL_MODULES]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=given)
    assert result.returncode == 0, result.stderr
    assert {"fairlevel.data.whole_files", "fairlevel.cli.front"} <= set(result.stdout.split())


def test_the_loss_for_pytorch_needs_no_import_of_its_own():
    pytest.importorskip("torch")
    assert fairlevel.torch.DPVarPenalty.__doc__


def test_unknown_names_list_the_known():
    with pytest.raises(AttributeError, match="FairRegressor"):
        _ = fairlevel.FairClusterer


def test_no_two_public_classes_share_a_name():
    files = Path(fairlevel.__file__).parent.rglob("*.py")
    nodes = (node for path in files for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef) and not node.name.startswith("_"))
    assert len(names) > 200
    assert [name for name, count in names.items() if count > 1] == []

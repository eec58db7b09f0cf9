"""Which files of tests are collected: all, or without PyTorch those that do without it."""

import ast
from functools import cache
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent
NEED_TORCH = (
    "torch",
    "fairlevel.networks",
    "fairlevel.torch",
    "fairlevel_study",
    "benchmarks",
    "support",
    "pages_of_docs",
)
OF_NETWORKS = {"FBO", "ITD", "Adversarial", "MLPMean"}
"""Public names that need PyTorch."""


def pytest_addoption(parser):
    """The option that takes the files which the run without PyTorch leaves out."""
    parser.addoption("--needing-torch", action="store_true", help="only files that need PyTorch, or are the study's")


def pytest_ignore_collect(collection_path, config):
    """Without PyTorch files that need it are left out; --needing-torch takes these, and files with tests that ask."""
    if collection_path.suffix == ".py" and collection_path.name != "conftest.py":
        if find_spec("torch") is None:
            return needs_torch(collection_path) or None
        if config.getoption("--needing-torch"):
            asks = 'importorskip("torch")' in collection_path.read_text(encoding="utf-8")
            return not (asks or needs_torch(collection_path)) or None
    return None


@cache
def needs_torch(file):
    """Whether a file imports PyTorch, or something of this package or of these tests that does."""
    if file.is_relative_to(ROOT / "study") or file.is_relative_to(ROOT / "src/fairlevel/networks"):
        return True
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            modules, names = [node.module or ""], {name.name for name in node.names}
        elif isinstance(node, ast.Import):
            modules, names = [name.name for name in node.names], set()
        else:
            continue
        if modules[0] == "fairlevel" and names & OF_NETWORKS:
            return True
        if any(module == need or module.startswith(f"{need}.") for module in modules for need in NEED_TORCH):
            return True
        for module in modules:
            helper = ROOT / f"{module.replace('.', '/')}.py"
            if module.startswith("tests.") and helper.exists() and needs_torch(helper):
                return True
    return False

"""Compile the C source once a machine, where there is a compiler; nothing here is required."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

import torch

SWITCH = "FAIRLEVEL_NATIVE"
"""Environment variable: ``off`` keeps to PyTorch alone."""

_SOURCE = Path(__file__).with_name("mlp.c")
_FLAGS = ("-std=gnu11", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast")


@cache
def shared_library() -> Path | None:
    """The compiled library, from the cache or fresh; None without a compiler, or where it cannot serve."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if os.environ.get(SWITCH, "").lower() == "off" or compiler is None:
        return None
    try:
        target = _cache_folder() / f"mlp-{_fingerprint(compiler)}.so"
        return target if target.exists() else _compiled(compiler, target)
    except (OSError, subprocess.SubprocessError):  # a folder or a compiler that cannot be used: PyTorch serves
        return None


def _compiled(compiler: str, target: Path) -> Path:
    """Written elsewhere first, then renamed: processes that start together do not see half a file."""
    with NamedTemporaryFile(dir=target.parent, suffix=".o") as piece, NamedTemporaryFile(dir=target.parent) as whole:
        _run(compiler, *_FLAGS, "-fPIC", "-fopenmp", "-c", str(_SOURCE), "-o", piece.name)
        _run(compiler, "-shared", piece.name, *_threads(), "-o", f"{whole.name}.so")
        Path(f"{whole.name}.so").replace(target)
    return target


def _threads() -> tuple[str, ...]:
    """PyTorch's own OpenMP runtime where it brings one: two pools of threads would wait for each other's cores."""
    bundled = sorted((Path(torch.__file__).parent / "lib").glob("libgomp*.so*"))
    return (str(bundled[0]), f"-Wl,-rpath,{bundled[0].parent}") if bundled else ("-fopenmp",)


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def _fingerprint(compiler: str) -> str:
    """Changes with the source, the compiler, the processor and PyTorch."""
    native = _run(compiler, "-march=native", "-Q", "--help=target")
    parts = (_SOURCE.read_bytes(), native.encode(), repr((_FLAGS, torch.__version__, torch.__file__)).encode())
    return sha256(b"".join(parts)).hexdigest()[:16]


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "fairlevel"
    folder.mkdir(parents=True, exist_ok=True)
    return folder

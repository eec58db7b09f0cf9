"""Compile the C source once per machine. Optional: without a compiler PyTorch does the work."""

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
"""Environment variable: ``off`` turns compiled code off, in C and in Triton."""

_SOURCE = Path(__file__).with_name("mlp.c")
_FLAGS = ("-std=gnu11", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast")


@cache
def shared_library() -> Path | None:
    """The compiled library, from the cache or freshly built; None where it is switched off or cannot be built."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if os.environ.get(SWITCH, "").lower() == "off" or compiler is None:
        return None
    try:
        target = _cache_folder() / f"mlp-{_fingerprint(compiler)}.so"
        return target if target.exists() else _compiled(compiler, target)
    except (OSError, subprocess.SubprocessError):  # the folder or the compiler cannot be used
        return None


def _compiled(compiler: str, target: Path) -> Path:
    """Compile to a temporary file, then rename it: another process never sees an incomplete library."""
    with NamedTemporaryFile(dir=target.parent, suffix=".o") as piece, NamedTemporaryFile(dir=target.parent) as whole:
        _run(compiler, *_FLAGS, "-fPIC", "-fopenmp", "-c", str(_SOURCE), "-o", piece.name)
        _run(compiler, "-shared", piece.name, *_threads(), "-o", f"{whole.name}.so")
        Path(f"{whole.name}.so").replace(target)
    return target


def _threads() -> tuple[str, ...]:
    """Link PyTorch's own OpenMP library where it has one: two thread pools would compete for the cores."""
    bundled = sorted((Path(torch.__file__).parent / "lib").glob("libgomp*.so*"))
    return (str(bundled[0]), f"-Wl,-rpath,{bundled[0].parent}") if bundled else ("-fopenmp",)


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def _fingerprint(compiler: str) -> str:
    """A hash that changes with the source, the compiler, the processor and PyTorch."""
    native = _run(compiler, "-march=native", "-Q", "--help=target")
    parts = (_SOURCE.read_bytes(), native.encode(), repr((_FLAGS, torch.__version__, torch.__file__)).encode())
    return sha256(b"".join(parts)).hexdigest()[:16]


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "fairlevel"
    folder.mkdir(parents=True, exist_ok=True)
    return folder

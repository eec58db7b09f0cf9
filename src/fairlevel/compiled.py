"""C sources are compiled once per machine, and called. Optional: without a compiler PyTorch does the work."""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
import subprocess
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor

from fairlevel.progress import say_slower

SWITCH = "FAIRLEVEL_NATIVE"
"""Environment variable: ``off`` turns compiled code off, in C and in Triton."""

_SLOWER = f"training takes longer. {SWITCH}=off, set before, says that this is meant."
_FLAGS = ("-std=gnu11", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast")


class Untrusted(OSError):
    """A cache that others could have written to, or that holds something else than what was compiled."""


def call(function: Any, *arguments: int | Tensor | None) -> None:
    """Tensors are passed as addresses, integers as 64 bits, PyTorch's number of threads last."""
    converted = [
        ctypes.c_int64(each) if isinstance(each, int) else ctypes.c_void_p(None if each is None else each.data_ptr())
        for each in arguments
    ]
    function(*converted, ctypes.c_int(torch.get_num_threads()))


@cache
def shared_library(source: Path) -> Path | None:
    """The compiled library of a C source, from the cache or freshly built; None where it is switched off, cannot be
    built, or where the cache cannot be trusted.
    """
    if os.environ.get(SWITCH, "").lower() == "off":
        return None
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        say_slower(f"There is no C compiler: {_SLOWER}")
        return None
    try:
        folder, name = _cache_folder(), f"{source.stem}-{_fingerprint(compiler, source)}"
        known = next((path for path in sorted(folder.glob(f"{name}-*.so")) if _is_whole(path)), None)
        return known or _compiled(compiler, source, folder, name)
    except (OSError, subprocess.SubprocessError, RuntimeError, ValueError) as error:  # of the folder or the compiler
        say_slower(f"C code cannot be compiled ({error}): {_SLOWER}")
        return None


def _compiled(compiler: str, source: Path, folder: Path, name: str) -> Path:
    """Compile in a folder of its own, then rename: another process never sees an incomplete library. The name ends in
    the hash of the content.
    """
    with TemporaryDirectory(dir=folder, prefix=f".{source.stem}-") as room:
        piece, whole = Path(room) / "library.o", Path(room) / "library.so"
        _run(compiler, *_FLAGS, "-fPIC", "-fopenmp", "-c", str(source), "-o", str(piece))
        _run(compiler, "-shared", str(piece), *_threads(), "-o", str(whole))
        whole.chmod(0o700)
        return whole.replace(folder / f"{name}-{sha256(whole.read_bytes()).hexdigest()}.so")


def _is_whole(library: Path) -> bool:
    """Whether the content has the hash in the name; opening a truncated library would end the process. A library of
    another user, or one that others may write to, is an error.
    """
    _require_own(library)
    return library.stem.rpartition("-")[2] == sha256(library.read_bytes()).hexdigest()


def _require_own(path: Path) -> None:
    """Raise :class:`Untrusted` unless the path belongs to this user, is no link, and nobody else may write to it."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise Untrusted(f"{path} is a link")
    if hasattr(os, "geteuid") and (found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        raise Untrusted(f"{path} is not this user's alone")


def _threads() -> tuple[str, ...]:
    """Link PyTorch's own OpenMP library where it has one: two thread pools would compete for the cores."""
    bundled = sorted((Path(torch.__file__).parent / "lib").glob("libgomp*.so*"))
    return (str(bundled[0]), f"-Wl,-rpath,{bundled[0].parent}") if bundled else ("-fopenmp",)


def _run(*command: str) -> bytes:
    """The output of a command as bytes: compilers speak the user's language and encoding."""
    return subprocess.run(command, check=True, capture_output=True, timeout=120).stdout


def _fingerprint(compiler: str, source: Path) -> str:
    """A hash that changes with the source, the compiler, the processor and PyTorch."""
    native = _run(compiler, "-march=native", "-Q", "--help=target")
    parts = (source.read_bytes(), native, repr((_FLAGS, torch.__version__, torch.__file__)).encode())
    return sha256(b"".join(parts)).hexdigest()[:16]


def _cache_folder() -> Path:
    """A folder that only this user may enter, in XDG_CACHE_HOME or ~/.cache. A relative path is ignored, as the
    specification of XDG_CACHE_HOME says: it would load code from whatever folder the program was started in.
    """
    named = Path(os.environ.get("XDG_CACHE_HOME") or "")
    base = named if named.is_absolute() else Path.home() / ".cache"
    if not base.is_absolute():
        raise Untrusted(f"{base} is relative")
    folder = base / "fairlevel" / "compiled"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _require_own(folder)
    folder.chmod(0o700)
    return folder

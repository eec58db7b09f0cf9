"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from tempfile import mkdtemp

from fairlevel.exceptions import CannotWrite, InvalidInput


def require_writable(path: Path) -> Path:
    """Where a file would be written, links followed; an error where that is no place for a file, such as a folder or a
    device. To be called before long work, too.
    """
    target = _resolved(path)
    if not target.parent.is_dir():
        folder = str(path.parent)
        raise InvalidInput(f"The folder {folder!r} does not exist; create it first: mkdir -p {quote(folder)}")
    with _errors_as_sentences(path):
        if target.is_dir():
            raise InvalidInput(f"{str(path)!r} is a folder; the name of a file is needed, such as {path / 'report'}.")
        if target.exists() and not target.is_file():
            raise InvalidInput(f"{str(path)!r} is no file but a device or a pipe; the name of a file is needed.")
    if not os.access(target.parent, os.W_OK):
        raise CannotWrite(f"{str(path)!r} cannot be written (Permission denied); choose another folder.")
    return target


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a temporary file, which then takes the place of ``path`` and keeps the permissions of a file
    that is there. That file stays until then, and if anything fails.
    """
    target = require_writable(path)
    with _errors_as_sentences(path), _private_folder(target) as private:
        new = private / target.name
        write(new)
        _keep_permissions(target, new)
        new.replace(target)


@contextmanager
def whole_folder(out: Path, may_replace: Callable[[Path], None]) -> Iterator[Path]:
    """A temporary folder to fill; it becomes ``out`` if the block succeeds and is deleted otherwise. What it replaces
    stays until then, and lends its permissions.

    ``may_replace`` is called with a folder that is there, at the start and again at the end, and raises an error if it
    must stay: a folder that appears in the meantime is not lost.
    """
    target = _resolved(out)
    with _errors_as_sentences(out):
        if target.exists():
            may_replace(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        with _private_folder(target) as private:
            partial = private / "new"
            partial.mkdir()
            yield partial
            if target.exists():
                may_replace(target)
                _keep_permissions(target, partial)
                _exchange(partial, target)
            else:
                partial.rename(target)


@contextmanager
def _private_folder(target: Path) -> Iterator[Path]:
    """A folder beside ``target`` that nobody else can open. New files in it get the permissions that the user's umask
    says, and are as private as the folder until they leave it.
    """
    private = Path(mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        yield private
    finally:
        shutil.rmtree(private, ignore_errors=True)


def _keep_permissions(old: Path, new: Path) -> None:
    """What is new gets the permissions of what it replaces, and so does everything in a folder."""
    for written in (new, *new.rglob("*")):
        replaced = old / written.relative_to(new)
        if replaced.exists():
            shutil.copymode(replaced, written)


def _exchange(new: Path, target: Path) -> None:
    """Two folders change places: in one step where Linux can, so that a reader, or a process that is killed, never
    finds neither. Elsewhere one steps aside for a moment, and comes back if the other cannot move.
    """
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    here, swap = -100, 2  # AT_FDCWD and RENAME_EXCHANGE, for which Python has no names
    if rename is not None and rename(here, os.fsencode(new), here, os.fsencode(target), swap) == 0:
        return
    aside = new.with_name("old")
    target.rename(aside)
    try:
        new.rename(target)
    finally:
        if not target.exists():
            aside.rename(target)


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:  # links in a circle
        raise InvalidInput(f"{str(path)!r} cannot be used ({error}); choose another name.") from None


@contextmanager
def _errors_as_sentences(path: Path) -> Iterator[None]:
    try:
        yield
    except CannotWrite:
        raise
    except OSError as error:
        why = error.strerror or error
        raise CannotWrite(f"{str(path)!r} cannot be written ({why}); choose another name or folder.") from None

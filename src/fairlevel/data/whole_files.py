"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from tempfile import NamedTemporaryFile, mkdtemp

from fairlevel.exceptions import CannotWrite, InvalidInput

_ATTEMPTS = 100  # to replace a folder that others replace at the same time


def require_writable(path: Path) -> Path:
    """Where a file would be written, links followed; an error where that is no place for a file, such as a folder or a
    device. To be called before long work, too.
    """
    place = _resolved(path)
    if not place.parent.is_dir():
        folder = str(path.parent)
        raise InvalidInput(f"The folder {folder!r} does not exist; create it first: mkdir -p {quote(folder)}")
    try:
        mode = place.stat().st_mode
    except FileNotFoundError:
        pass
    except OSError as error:
        raise CannotWrite(f"{str(path)!r} cannot be written ({error.strerror}); choose another name.") from None
    else:
        if stat.S_ISDIR(mode):
            raise InvalidInput(f"{str(path)!r} is a folder; the name of a file is needed, such as {path / 'report'}.")
        if not stat.S_ISREG(mode):
            raise InvalidInput(f"{str(path)!r} is no file but a device or a pipe; the name of a file is needed.")
    if not os.access(place.parent, os.W_OK):
        raise CannotWrite(f"{str(path)!r} cannot be written (Permission denied); choose another folder.")
    return place


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a temporary file beside ``path``, which then takes its place; a file that is there stays until
    then, and if anything fails.
    """
    place = require_writable(path)
    try:
        with NamedTemporaryFile(dir=place.parent, prefix=f".{place.name}.", delete=False) as handle:
            partial = Path(handle.name)
        try:
            write(partial)
            os.chmod(partial, 0o644)
            partial.replace(place)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise _cannot(path, error) from None


@contextmanager
def whole_folder(out: Path, may_replace: Callable[[Path], None]) -> Iterator[Path]:
    """A temporary folder to fill; it becomes ``out`` if the block succeeds and is deleted otherwise.

    ``may_replace`` is called with a folder that is there, at the start and again at the end, and raises an error if it
    must stay: a folder that appears in the meantime is not lost. Several writers may replace the same folder at once.
    """
    place = _resolved(out)
    _ask(place, may_replace)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(mkdtemp(dir=place.parent, prefix=f".{place.name}."))
    except OSError as error:
        raise _cannot(out, error) from None
    try:
        yield partial
        partial.chmod(0o755)
        _put(partial, place, may_replace)
    except OSError as error:
        if isinstance(error, CannotWrite):
            raise
        raise _cannot(out, error) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _ask(place: Path, may_replace: Callable[[Path], None]) -> bool:
    """Whether a folder is there, which may be replaced; it is looked at again if it was replaced in the meantime."""
    while (identity := _identity(place)) is not None:
        try:
            may_replace(place)
        except InvalidInput:
            if _identity(place) == identity:
                raise
        else:
            return True
    return False


def _identity(place: Path) -> tuple[int, ...] | None:
    try:
        found = place.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _put(partial: Path, place: Path, may_replace: Callable[[Path], None]) -> None:
    """Rename the new folder; the old one is renamed first and then deleted, so that no reader sees a part of it."""
    for attempt in range(_ATTEMPTS):
        if _ask(place, may_replace):
            away = Path(mkdtemp(dir=place.parent, prefix=f".{place.name}."))
            try:
                place.rename(away / "old")
            except FileNotFoundError:  # somebody else has just taken it away
                pass
            finally:
                shutil.rmtree(away, ignore_errors=True)
        try:
            partial.rename(place)
        except OSError as error:
            taken = error.errno in (errno.ENOTEMPTY, errno.EEXIST) or place.exists()
            if not taken or attempt + 1 == _ATTEMPTS:
                raise
        else:
            return


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:  # links in a circle
        raise InvalidInput(f"{str(path)!r} cannot be used ({error}); choose another name.") from None


def _cannot(path: Path, error: OSError) -> CannotWrite:
    if isinstance(error, CannotWrite):
        return error
    return CannotWrite(f"{str(path)!r} cannot be written ({error.strerror or error}); choose another name or folder.")

"""A lock on an open file, so that one process at a time writes into a folder of results."""

from __future__ import annotations

import os
import sys
from typing import IO

_LOCKED_BYTE = 2**30  # Windows locks single bytes, for readers too: take one far beyond the end of the file


def lock_file(handle: IO[str]) -> None:
    """Lock the file until it is closed; BlockingIOError if another process holds the lock."""
    if sys.platform == "win32":
        import msvcrt

        number = handle.fileno()
        position = os.lseek(number, 0, os.SEEK_CUR)
        os.lseek(number, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(error.errno, "another process holds the lock") from None
        finally:
            os.lseek(number, position, os.SEEK_SET)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

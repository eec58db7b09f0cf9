"""Keeping freed memory for the next step instead of giving it back to the system."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of glibc's mallopt
_LARGEST = 32 * 2**20  # more it does not take for the second


@cache
def keep_freed_memory() -> None:
    """Ask glibc to reuse blocks of up to 32 MiB: a step of training frees and takes the same ones thousands of times,
    and fresh pages cost more than the arithmetic on them. Does nothing elsewhere, or where the user has set
    MALLOC_TRIM_THRESHOLD_.
    """
    if not sys.platform.startswith("linux") or "MALLOC_TRIM_THRESHOLD_" in os.environ:
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    mallopt(_MMAP_THRESHOLD, _LARGEST)
    mallopt(_TRIM_THRESHOLD, 2**30)

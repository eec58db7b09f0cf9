"""Reuse freed memory instead of returning it to the operating system: a setting of the whole process.

One training step frees and allocates the same blocks thousands of times, and fetching fresh pages costs more than the
arithmetic on them. Library code never changes the setting on its own: call :func:`keep_freed_memory`, or set the
environment variable ``FAIRLEVEL_KEEP_MEMORY=1``. The command line sets it, and the workers of the study call the
function. It pays for networks on a CPU; boosters train in NumPy, where it made no difference.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

SWITCH = "FAIRLEVEL_KEEP_MEMORY"
"""Environment variable: ``1`` makes every training of networks on a CPU call :func:`keep_freed_memory`."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # options of glibc's mallopt
_LARGEST_BLOCK = 32 * 2**20  # the largest value that glibc accepts for the second option


@cache
def keep_freed_memory() -> None:
    """Make glibc keep freed blocks of up to 32 MiB for reuse, for the rest of the process.

    Does nothing with another C library, or where the environment variable MALLOC_TRIM_THRESHOLD_ is set.
    """
    if not sys.platform.startswith("linux") or "MALLOC_TRIM_THRESHOLD_" in os.environ:
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK)
    mallopt(_TRIM_THRESHOLD, 2**30)


@cache
def keep_freed_memory_if_asked() -> None:
    """Call :func:`keep_freed_memory` where FAIRLEVEL_KEEP_MEMORY=1; the variable is read once per process."""
    if os.environ.get(SWITCH) == "1":
        keep_freed_memory()

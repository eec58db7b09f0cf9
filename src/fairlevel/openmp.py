"""How OpenMP's threads wait, and how many cores there are for them.

A thread of PyTorch or LightGBM that has done its part of a product waits for the others, and keeps its
core busy meanwhile. Where other work shares the cores, the thread that it waits for may not get one: a fit then takes
many times its work. A library reads the environment when it is loaded; how its threads wait cannot be changed later.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

POLICY = "OMP_WAIT_POLICY"
_given = os.environ.get(POLICY)
_loaded_asleep = False
_LIMITS = Path("/sys/fs/cgroup")


@contextmanager
def waiting_asleep() -> Iterator[None]:
    """Threads of libraries that are loaded, and of processes that are started inside, sleep while they wait, unless the
    user has said how they wait. The environment is then put back.
    """
    global _loaded_asleep
    if POLICY in os.environ:
        yield
        return
    first = "torch" not in sys.modules
    os.environ[POLICY] = "PASSIVE"
    try:
        yield
    finally:
        os.environ.pop(POLICY, None)
        _loaded_asleep |= first and "torch" in sys.modules


def may_spin() -> bool:
    """Whether PyTorch was loaded by others, so that its threads may keep their cores busy while they wait."""
    return _given is None and not _loaded_asleep


def cores() -> int:
    """Cores that this process may use: not more than the limit of a container, whose system shows all of them."""
    visible = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(min(visible, math.ceil(_granted())), 1)


def _granted() -> float:
    """Seconds of work per second that Linux's control groups grant, in their versions 2 and 1."""
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            quota, period = " ".join((_LIMITS / name).read_text() for name in names).split()
            granted = int(quota) / int(period)
        except (OSError, ValueError, ZeroDivisionError):  # no such file, or "max"
            continue
        if granted > 0:
            return granted
    return sys.maxsize

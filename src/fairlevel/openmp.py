"""How OpenMP's threads wait, and how many cores there are for them.

A thread of LightGBM or PyTorch that has done its part waits for the others, and keeps its core busy meanwhile. Where
other work shares the cores, the thread that it waits for may not get one: a fit then takes many times its work. A
library reads the environment when it is loaded; how its threads wait cannot be changed later.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

POLICY = "OMP_WAIT_POLICY"


@contextmanager
def waiting_asleep() -> Iterator[None]:
    """Threads of libraries that are loaded, and of processes that are started inside, sleep while they wait, unless the
    user has said how they wait. The environment is then put back.
    """
    if POLICY in os.environ:
        yield
        return
    os.environ[POLICY] = "PASSIVE"
    try:
        yield
    finally:
        os.environ.pop(POLICY, None)


def cores() -> int:
    """Cores that this process may use: not more than the limit of a container, whose system shows all of them."""
    from joblib import cpu_count  # where work begins

    return int(cpu_count())

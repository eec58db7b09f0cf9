"""Work in a process that was forked from one that has worked already.

OpenMP's threads do not survive a fork: the first parallel loop of the child waits for them for ever, in PyTorch, in
LightGBM alike. With one thread there is no such loop.
"""

from __future__ import annotations

import os
import sys

_first = _process = os.getpid()


def forked() -> bool:
    """Whether this process was forked from the one that imported this file."""
    return os.getpid() != _first


def use_one_thread_after_fork() -> None:
    """In a forked process, let PyTorch use one thread, once; in any other process nothing changes. Processes that are
    started afresh (spawn, joblib's loky) keep all threads.
    """
    global _process
    if os.getpid() != _process:
        _process = os.getpid()
        if "torch" in sys.modules:  # otherwise it has no threads yet
            sys.modules["torch"].set_num_threads(1)

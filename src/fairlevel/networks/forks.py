"""Work in a process that was forked from one that has worked already.

OpenMP's threads do not survive a fork: the first parallel loop of the child waits for them for ever, in PyTorch, in
LightGBM and in compiled code alike. With one thread there is no such loop.
"""

from __future__ import annotations

import os

import torch

_process = os.getpid()


def use_one_thread_after_fork() -> None:
    """In a forked process, let PyTorch use one thread, once; in any other process nothing changes. Processes that are
    started afresh (spawn, joblib's loky) keep all threads.
    """
    global _process
    if os.getpid() != _process:
        _process = os.getpid()
        torch.set_num_threads(1)

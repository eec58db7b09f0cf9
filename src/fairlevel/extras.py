"""The extra ``networks``: parts of fairlevel that need PyTorch, looked up when they are asked for."""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from fairlevel.exceptions import NotInstalled
from fairlevel.openmp import waiting_asleep
from fairlevel.threads import use_as_many_threads


def has_networks() -> bool:
    """Whether PyTorch is installed."""
    return find_spec("torch") is not None


def networks(module: str) -> Any:
    """A module of ``fairlevel.networks``; without PyTorch, an error that says what to type."""
    try:
        with waiting_asleep():
            imported = import_module(f"fairlevel.networks.{module}")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise NotInstalled('This needs PyTorch, which is not installed: pip install "fairlevel[networks]".') from None
    _know_our_threads()
    return imported


@cache
def _know_our_threads() -> None:
    """PyTorch works on as many threads as a fit that is running, and on one in processes that are forked from now on:
    they have lost its other threads, and its first parallel loop would wait for them for ever.
    """
    use_as_many_threads()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: sys.modules["torch"].set_num_threads(1))

"""The extra ``networks``: parts of fairlevel that need PyTorch, looked up when they are asked for."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from fairlevel.exceptions import NotInstalled
from fairlevel.threads import use_as_many_threads, waiting_asleep


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
    use_as_many_threads()
    return imported

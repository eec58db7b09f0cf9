"""Commands that are read when they are called: a list of commands need not wait for PyTorch."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand
from typer.main import get_command


class Later(TyperCommand):
    """Stands for the function ``fairlevel.cli.<file>.<file>``; ``line`` is what a list of commands says of it."""

    def __init__(self, name: str, file: str, line: str) -> None:
        super().__init__(name, help=line)
        self.file = file

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        alone = typer.Typer(add_completion=False)
        alone.command(self.name)(getattr(import_module(f"fairlevel.cli.{self.file}"), self.file))
        return get_command(alone).make_context(*arguments, **settings)

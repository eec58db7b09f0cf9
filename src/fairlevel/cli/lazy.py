"""Commands that are imported only when they run, so that ``fairlevel --help`` does not wait for PyTorch."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from fairlevel.cli.completion import completed
from fairlevel.exceptions import InvalidInput
from fairlevel.removed import refuse_removed


class LazyCommand(TyperCommand):
    """Stands for the function ``fairlevel.cli.<name>.<name>``; ``line`` describes it in the list of commands."""

    def __init__(self, name: str, line: str) -> None:
        super().__init__(name, help=line)
        self.file = name

    def make_context(self, info_name: Any, args: list[str], *arguments: Any, **settings: Any) -> Any:
        """Import the function and continue as its command, with its own options and help."""
        for word in args:
            refuse_removed(f"fairlevel {self.name} {word.partition('=')[0]}", InvalidInput)
        return self.command().make_context(info_name, args, *arguments, **settings)

    def command(self) -> Any:
        """The command itself; its help ends with the example of its file."""
        single = typer.Typer(add_completion=False, rich_markup_mode="rich")
        home = import_module(f"fairlevel.cli.{self.file}")
        single.command(self.name, epilog=f"Example: [bold]{home.EXAMPLE}[/bold]")(
            completed(getattr(home, self.file), self.file)
        )
        return get_command(single)


class GoneCommand(TyperCommand):
    """A command that there was: asking for it, whatever follows, raises the sentence that says what to type now."""

    def make_context(self, info_name: Any, args: list[str], *arguments: Any, **settings: Any) -> Any:
        """Raise the sentence on this command, or on the first of its subcommands that is named."""
        for name in (f"fairlevel {self.name} {' '.join(args[:1])}".strip(), f"fairlevel {self.name}"):
            refuse_removed(name, InvalidInput)

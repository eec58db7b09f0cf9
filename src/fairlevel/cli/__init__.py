"""The command line: one file per command, and one row each in the table below."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from importlib import import_module
from traceback import print_exc
from typing import Any, NoReturn

import typer
from rich.console import Console
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from fairlevel._version import __version__
from fairlevel.exceptions import FairLevelError, InvalidInput
from fairlevel.networks.memory import SWITCH
from fairlevel.openmp import POLICY
from fairlevel.removed import refuse_removed

COMMANDS = {
    "demo": "Train, explain and save the fronts of two embedded tables.",
    "audit": "Measure how much the average prediction varies with the sensitive attributes.",
    "compare": "Find out which of two predictions has less disparity.",
    "front": "Train models along the trade-off between accuracy and level predictions.",
    "relevel": "Make a model that exists level, without training it again.",
    "predict": "Predict for every row of a file; the sensitive columns are not needed.",
}
"""A command is the function of its name in the file of that name."""


class LazyCommand(TyperCommand):
    """Stands for the function ``fairlevel.cli.<name>.<name>``, which is imported only when it runs, so that ``fairlevel
    --help`` waits for nothing; ``line`` describes it in the list of commands.
    """

    def __init__(self, name: str, line: str) -> None:
        super().__init__(name, help=line)

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Import the function and continue as its command, with its own options and help."""
        return self.command().make_context(*arguments, **settings)

    def command(self) -> Any:
        """The command itself; its help ends with the example of its file."""
        module, single = (
            import_module(f"fairlevel.cli.{self.name}"),
            typer.Typer(add_completion=False, rich_markup_mode="rich"),
        )
        single.command(self.name, epilog=f"Example: [bold]{module.EXAMPLE}[/bold]")(getattr(module, str(self.name)))
        return get_command(single)


_typer = typer.Typer(
    help="Predictors whose average prediction is level across sensitive attributes.", no_args_is_help=True
)


def with_version(program: typer.Typer, name: str) -> None:
    """Give a program of commands the option ``--version``."""

    def print_version(asked: bool) -> None:
        if asked:
            print(f"{name} {__version__}", flush=True)  # a full disk is found out here
            raise typer.Exit

    option = typer.Option(False, "--version", callback=print_version, is_eager=True, help="Print the version and exit.")

    @program.callback()
    def root(version: bool = option) -> None:
        """Make Typer build a group of commands; without a callback it would build a single command."""


with_version(_typer, "fairlevel")


def app() -> None:
    """Run the command line of ``fairlevel``."""
    root = get_command(_typer)
    assert isinstance(root, TyperGroup)  # it has a callback
    root.commands.update({name: LazyCommand(name, line) for name, line in COMMANDS.items()})
    run_command_line(root, "fairlevel")


def run_command_line(root: Callable[..., Any], name: str) -> None:
    """Run a program of commands; a mistake in the input is reported in one sentence, with exit code 2. Any other error
    is shown in full, with exit code 3: 1 stands for a budget that is not met.

    Settings of the whole process, which a library must not touch: OpenMP threads that wait sleep instead of taking
    cores from others (read when PyTorch is imported), and training reuses freed memory. The user's values win.
    """
    os.environ.setdefault(POLICY, "PASSIVE")
    os.environ.setdefault(SWITCH, "1")
    try:
        first, *others = *sys.argv[1:], ""
        for word in others:
            refuse_removed(f"{name} {first} {word.partition('=')[0]}".strip(), InvalidInput)
        root(prog_name=name)
    except FairLevelError as error:
        _end(str(error))
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None and error.strerror:  # of no file: standard output
            sys.stdout = io.StringIO()  # what could not be written would be tried again
            _end(f"Standard output cannot be written: {error.strerror}.")
        print_exc()
        raise SystemExit(3) from None


def _end(sentence: str) -> NoReturn:
    Console(stderr=True).print(f"error: {sentence}", style="red", markup=False, highlight=False, soft_wrap=True)
    raise SystemExit(2) from None


__all__ = ["COMMANDS", "app", "run_command_line", "with_version"]

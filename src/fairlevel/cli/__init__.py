"""The command line: one file a command, one row each in the table below."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from typer.core import TyperGroup
from typer.main import get_command

from fairlevel._version import __version__
from fairlevel.cli.later import Later
from fairlevel.exceptions import FairLevelError

COMMANDS = {
    "demo": "Train, explain and save the fronts of two embedded tables.",
    "audit": "Measure how much the average prediction moves across profiles.",
    "front": "Train every trade-off between accuracy and level predictions.",
    "predict": "Predict for every row of a file; the sensitive columns are not needed.",
    "synthetic": "Write a table of the paper's synthetic design.",
    "bench run": "Run a study; the same command goes on where it stopped.",
    "bench status": "Show which tasks of a run are finished.",
    "bench report": "Analyse a finished or running study: a page, figures and tables.",
    "bench synthetic": "Run the paper's synthetic study and write what came out.",
    "data list": "List the tables of the benchmark.",
    "data fetch": "Bring tables of the benchmark onto this machine.",
}
"""Each is the function of its name, words joined by _, in the file of that name; two words are a command in a group."""

GROUPS = {"bench": "Rerun the paper's studies.", "data": "The tables of the benchmark."}

_typer = typer.Typer(
    help="Predictors whose average prediction is level across sensitive attributes.",
    no_args_is_help=True,
    add_completion=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"fairlevel {__version__}")
        raise typer.Exit


@_typer.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Keep one level of commands however many there are."""


def _command_line() -> TyperGroup:
    """The root with its commands and groups."""
    root = get_command(_typer)
    assert isinstance(root, TyperGroup)  # it has a callback
    groups = {name: TyperGroup(name=name, help=line, no_args_is_help=True) for name, line in GROUPS.items()}
    for name, line in COMMANDS.items():
        *group, word = name.split()
        (groups[group[0]] if group else root).commands[word] = Later(word, name.replace(" ", "_"), line)
    root.commands.update(groups)
    return root


def app() -> None:
    """Run the command line; an error made by the user is one sentence and exit code 2."""
    try:
        _command_line()()
    except FairLevelError as error:
        Console(stderr=True).print(f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise SystemExit(2) from None


__all__ = ["COMMANDS", "app"]

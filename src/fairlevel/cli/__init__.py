"""The command line: one file a command, one row each in the table below."""

from __future__ import annotations

from collections.abc import Callable

import typer
from rich.console import Console

from fairlevel.cli.demo import demo
from fairlevel.cli.synthetic import synthetic
from fairlevel.exceptions import FairLevelError

COMMANDS: dict[str, Callable[..., None]] = {"demo": demo, "synthetic": synthetic}

_typer = typer.Typer(
    help="Predictors whose average prediction is level across sensitive attributes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


@_typer.callback()
def _root() -> None:
    """Keep one level of commands however many there are."""


for _name, _command in COMMANDS.items():
    _typer.command(_name)(_command)


def app() -> None:
    """Run the command line; an error made by the user is one sentence and exit code 2."""
    try:
        _typer()
    except FairLevelError as error:
        Console(stderr=True).print(f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise SystemExit(2) from None


__all__ = ["COMMANDS", "app"]

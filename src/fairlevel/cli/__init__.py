"""The command line: one file a command, one row each in the table below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console

from fairlevel._version import __version__
from fairlevel.cli.audit import audit
from fairlevel.cli.bench_report import bench_report
from fairlevel.cli.bench_run import bench_run
from fairlevel.cli.bench_status import bench_status
from fairlevel.cli.bench_synthetic import bench_synthetic
from fairlevel.cli.data_fetch import data_fetch
from fairlevel.cli.data_list import data_list
from fairlevel.cli.demo import demo
from fairlevel.cli.front import front
from fairlevel.cli.predict import predict
from fairlevel.cli.synthetic import synthetic
from fairlevel.exceptions import FairLevelError

COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo,
    "audit": audit,
    "front": front,
    "predict": predict,
    "synthetic": synthetic,
    "bench run": bench_run,
    "bench status": bench_status,
    "bench report": bench_report,
    "bench synthetic": bench_synthetic,
    "data list": data_list,
    "data fetch": data_fetch,
}
"""A name of two words is a command within a group."""

GROUPS = {"bench": "Rerun the paper's studies.", "data": "The tables of the benchmark."}

_typer = typer.Typer(
    help="Predictors whose average prediction is level across sensitive attributes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
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


_groups = {name: typer.Typer(help=text, no_args_is_help=True) for name, text in GROUPS.items()}
for _name, _group in _groups.items():
    _typer.add_typer(_group, name=_name)
for _name, _command in COMMANDS.items():
    *_in_group, _word = _name.split()
    (_groups[_in_group[0]] if _in_group else _typer).command(_word)(_command)


def app() -> None:
    """Run the command line; an error made by the user is one sentence and exit code 2."""
    try:
        _typer()
    except FairLevelError as error:
        Console(stderr=True).print(f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise SystemExit(2) from None


__all__ = ["COMMANDS", "app"]

"""What a command takes, read from the command line itself."""

from __future__ import annotations

from importlib import import_module

import typer
from typer.main import get_command

from fairlevel.cli import COMMANDS


def parameters(command: str) -> list:
    """Arguments and options of a command, such as ``"bench run"``; ``--help`` left out."""
    file = command.replace(" ", "_")
    single = typer.Typer(add_completion=False)
    single.command(command)(getattr(import_module(f"fairlevel.cli.{file}"), file))
    return [each for each in get_command(single).params if each.name != "help"]


def options(command: str) -> None:
    """Print the usage of a command and a table of its arguments and options."""
    taken = parameters(command)
    arguments = [each for each in taken if each.param_type_name == "argument"]
    words = " ".join(_argument(each) for each in arguments)
    print(f"**{COMMANDS[command]}**\n\n```sh\n{f'fairlevel {command} {words}'.strip()} [OPTIONS]\n```\n")
    print("| option | meaning | default |\n|---|---|---|")
    for each in taken:
        is_argument = each in arguments
        name = _argument(each) if is_argument else ", ".join(each.opts)
        meaning = " ".join((each.help or "").split()).replace("|", "\\|")
        print(f"| `{name}` | {meaning} | {_default(each)} |")


def _argument(each: typer.core.TyperArgument) -> str:
    return (each.metavar or each.name).upper() + ("..." if each.nargs == -1 else "")


def _default(each: typer.core.TyperOption) -> str:
    if each.required:
        return "required"
    if each.default is None or each.default is False or each.default == "" or callable(each.default):
        return ""
    return f"`{each.default}`"

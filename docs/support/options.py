"""What a command takes, read from the command line itself."""

from __future__ import annotations

import typer
from typer.main import get_command

from fairlevel.cli import COMMANDS, program
from fairlevel_study.cli import study

STUDY = "fairlevel-study"


def found(line: str) -> tuple[str, typer.core.TyperCommand]:
    """The words of a command and the command: of ``"front"``, or of ``"fairlevel-study data list"``."""
    first, *words = line.split()
    if first != STUDY:
        return f"fairlevel {line}", get_command(program).commands[line]
    command = get_command(study)
    for word in words:
        command = command.commands[word]
    return line, command


def parameters(line: str) -> list:
    """Arguments and options of a command; ``--help`` left out."""
    return [each for each in found(line)[1].params if each.name != "help"]


def options(line: str) -> None:
    """Print the usage of a command and a table of its arguments and options."""
    (words, command), taken = found(line), parameters(line)
    arguments = [each for each in taken if each.param_type_name == "argument"]
    given = " ".join([words, *map(_argument, arguments)])
    meaning = COMMANDS.get(line) or " ".join(command.help.split())
    print(f"**{meaning}**\n\n```sh\n{given} [OPTIONS]\n```\n")
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

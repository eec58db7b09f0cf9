"""What the Tab key offers: columns of the file that is named on the line, and names that options take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, get_type_hints

import typer

from fairlevel.cli import names as known
from fairlevel.cli.checks import READERS, column_names

Completer = Callable[[typer.Context, str], list[str]]


def one_of(names: Iterable[str]) -> Completer:
    """Names that begin with what is typed; after a comma, those for the next place of the list."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        return _continued(incomplete, names)

    return complete


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Columns of the first table on the line; none while there is no such file. Words before an option that still lacks
    its value have not been assigned to parameters: they are in ``ctx.args``.
    """
    for word in (ctx.params.get("file"), *ctx.args):
        if word and Path(word).suffix.lower() in READERS and Path(word).is_file():
            return _continued(incomplete, column_names(Path(word)))
    return []


def _continued(incomplete: str, names: Iterable[str]) -> list[str]:
    before, comma, last = incomplete.rpartition(",")
    taken = before.split(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in taken]


COLUMN_OPTIONS = (
    *("target", "sensitive", "given", "weight", "drop", "categories"),
    *("prediction", "predictions", "by", "groups"),
)
COMPLETERS: dict[str, Completer] = {
    **dict.fromkeys(COLUMN_OPTIONS, columns),
    "method": one_of((*known.SOURCES, *known.PENALTIES)),
    "relevel method": one_of(known.WAYS_OF_RELEVEL),
    "predictor": one_of(known.PREDICTORS),
    "device": one_of(("auto", "cpu", "cuda")),
}
"""Parameter -> what completes it; with the command's file before it where the name means something else there."""


def completed(function: Callable[..., None], file: str) -> Callable[..., None]:
    """The function of a command, with a completer for each parameter that has one."""
    hints: dict[str, Any] = get_type_hints(function, include_extras=True)
    for name, hint in hints.items():
        for described in getattr(hint, "__metadata__", ()):
            described.autocompletion = COMPLETERS.get(f"{file} {name}", COMPLETERS.get(name))
    function.__annotations__ = hints
    return function

"""What a command says: sentences and tables for people, or one JSON object for programs."""

from __future__ import annotations

import io
import json
import math
import shlex
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from fairlevel.progress import shown

if TYPE_CHECKING:
    from fairlevel.report.page import TableBlock

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but warnings and errors.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object, for programs; everything else goes to standard error.")
]

CLOSED_PIPE = 141
"""Exit code where the reader of the output has gone, as in ``| head -1``: that of other programs in a shell."""


class _Output(Console):
    """A console that ends the command where nobody reads on."""

    def on_broken_pipe(self) -> None:
        _end_unread()


class Talk:
    """Sentences go to standard output, or to standard error where standard output is for JSON; warnings and progress
    always go to standard error. A quiet command says neither sentences nor progress.
    """

    def __init__(self, quiet: bool, as_json: bool) -> None:
        self._quiet, self._json = quiet, as_json
        self._people = _Output(stderr=as_json, markup=False, highlight=False)
        self._errors = _Output(stderr=True, markup=False, highlight=False)

    def say(self, what: Any, style: str | None = None) -> None:
        """Print a sentence, which is not broken into lines, or a table."""
        if not self._quiet:
            self._people.print(what, style=style, soft_wrap=isinstance(what, str))

    def show(self, block: TableBlock) -> None:
        """Print a table of a page. Columns of single words or numbers are not broken: others get narrower first."""
        from rich.table import Table

        table = Table(title=block.title or None, title_justify="left")
        for column, (name, words) in enumerate(zip(block.header, block.words, strict=True)):
            single = column > 0 and not any(" " in row[column] for row in block.rows)
            table.add_column(name, justify="left" if words or column == 0 else "right", no_wrap=single)
        for row in block.rows:
            table.add_row(*row)
        self.say(table)
        if block.caption:
            self.say(block.caption)

    def warn(self, message: object, style: str = "yellow") -> None:
        """Print what a person must know, also of a quiet command."""
        self._errors.print(f"! {message}", style=style, soft_wrap=True)

    def next(self, *words: object) -> None:
        """Say which command may follow, so that it can be copied."""
        self.say(f"next: {shlex.join(map(str, words))}")

    def result(self, **values: Any) -> None:
        """Print the result for programs, if it was asked for."""
        if self._json:
            try:
                print(json.dumps(plain(values), ensure_ascii=False, allow_nan=False), flush=True)
            except BrokenPipeError:
                _end_unread()

    @contextmanager
    def working(self) -> Iterator[list[str]]:
        """Show the progress of the work inside, and print its warnings after it; they are also given back. What
        libraries print does not join the JSON object.
        """
        messages: list[str] = []
        elsewhere = redirect_stdout(sys.stderr) if self._json else nullcontext()
        with elsewhere, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", DeprecationWarning)  # said to developers
            bars = self._people if self._people.is_terminal else self._errors
            with shown(not self._quiet and bars.is_terminal, bars):
                yield messages
        messages += dict.fromkeys(str(warning.message) for warning in caught)
        for message in messages:
            self.warn(message)


def _end_unread() -> None:
    """End the command; what is left of the output goes nowhere."""
    sys.stdout = io.StringIO()
    raise SystemExit(CLOSED_PIPE)


def plain(value: Any) -> Any:
    """Values as JSON has them: numbers of NumPy as those of Python, what is not finite as null, tables as rows."""
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        value = value.to_dict("records")
    if isinstance(value, Mapping):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def shown_path(path: Path) -> str:
    """A path as it can be pasted into a shell."""
    return shlex.quote(str(path))

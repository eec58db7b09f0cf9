"""Options that several commands share, each declared once, and how their text is read and completed by the Tab key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from fairlevel.cli.checks import READERS, column_names
from fairlevel.exceptions import InvalidInput

# Names that options take, written out: the tables that define them import what trains. A test compares both.
PENALTIES = (
    *("fbo", "itd", "r2", "gdp", "adversarial", "hsic", "hsic_features", "fbo_closed", "fbo_root"),
    "adversarial_plain",
)
SOURCES = ("auto", "boosting", "relevel", "spectral")
PREDICTORS = ("boosting", "mlp", "linear", "random_features")
WAYS_OF_RELEVEL = ("auto", "averages", "trees", "leaves", "correction")


def one_of(names: Iterable[str]) -> Callable[[typer.Context, str], list[str]]:
    """Completes names that begin with what is typed; after a comma, the next name of a list."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        taken = before.split(",")
        return [f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in taken]

    return complete


def _columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completes columns of the first table on the line; none while there is no such file. Words before an option that
    still lacks its value have not been assigned to parameters: they are in ``ctx.args``.
    """
    for word in (ctx.params.get("file"), *ctx.args):
        if word and Path(word).suffix.lower() in READERS and Path(word).is_file():
            return one_of(column_names(Path(word)))(ctx, incomplete)
    return []


def column_option(help_text: str) -> Any:
    """An option that names columns."""
    return typer.Option(help=help_text, autocompletion=_columns)


_NAME = re.compile(r'\s*+(?:"((?:[^"]|"")*+)"\s*|(?!")([^,]*)),')


def budget_option(name: str, help_text: str) -> Any:
    """An option for a budget, which is checked before any work."""

    def check(most: float | None) -> float | None:
        from fairlevel.fronts.budget import read_limit

        return None if most is None else read_limit(name, most)

    return typer.Option(help=help_text, callback=check)


Sensitive = Annotated[str, column_option("Sensitive columns, comma-separated.")]
Given = Annotated[str, column_option("Legitimate factors, comma-separated: only rows that share them are compared.")]
Weight = Annotated[
    str | None, column_option("Column that says how many rows each row counts for, such as survey weights.")
]
Groups = Annotated[
    str | None, column_option("Column with the same label for rows that belong together, such as a person.")
]
Drop = Annotated[str, column_option("Columns that models do not read, such as ids, comma-separated.")]
Categories = Annotated[
    str,
    column_option(
        "Columns that hold categories although they look like numbers, or in which NA and None are names, "
        "comma-separated."
    ),
]
SensitiveInputs = Annotated[bool, typer.Option("--sensitive-inputs", help="Models read the sensitive columns, too.")]
Lenient = Annotated[
    bool, typer.Option("--lenient", help="Count cells that cannot be read as missing, instead of stopping at them.")
]
MaxShare = Annotated[
    float | None,
    budget_option(
        "max_share",
        "Budget: also save the best model of which at most this share of the variance depends on the sensitive "
        "columns, such as 0.05.",
    ),
]
FrontFolder = Annotated[Path, typer.Option(help="Folder for front.csv, report.html and the models.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the folder if it exists.")]
MostRows = Annotated[int, typer.Option(help="Use at most this many rows, sampled at random.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]


def read_names(text: str) -> tuple[str, ...]:
    """Names from comma-separated text, each once. A name with a comma, or with spaces around it, stands in double
    quotes, as in CSV, and a double quote in it is written twice.
    """
    names, rest = [], f"{text},"
    while rest:
        match = _NAME.match(rest)
        if match is None:
            raise InvalidInput(
                f"{text!r} cannot be read as names; separate them by commas, and put a name with a comma in double "
                """quotes, such as 'age,"income, yearly"'."""
            )
        quoted, plain = match.groups()
        names.append(plain.strip() if quoted is None else quoted.replace('""', '"'))
        rest = rest[match.end() :]
    return tuple(dict.fromkeys(name for name in names if name.strip()))


def read_sensitive(text: str) -> tuple[str, ...]:
    """Names of at least one sensitive column."""
    names = read_names(text)
    if not names:
        raise InvalidInput("--sensitive names no column; pass at least one, such as --sensitive age,income.")
    return names


def as_option(names: Iterable[object]) -> str:
    """Names as :func:`read_names` reads them."""
    texts = list(map(str, names))
    plain = not any(text != text.strip() or set(text) & set(',"') for text in texts)
    return ",".join(texts if plain else ('"' + text.replace('"', '""') + '"' for text in texts))

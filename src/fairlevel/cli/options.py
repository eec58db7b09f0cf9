"""Readers of options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from fairlevel.exceptions import InvalidInput

if TYPE_CHECKING:
    from fairlevel.executors import Executor

_NAME = re.compile(r'\s*+(?:"((?:[^"]|"")*+)"\s*|(?!")([^,]*)),')


def read_seeds(text: str) -> tuple[int, ...]:
    """Seeds from text such as ``0-2``, ``0,3,5`` or ``0-2,5``, each once."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise InvalidInput(f"--seeds {text!r} was given; whole numbers are needed, such as 0-9 or 0,3,5.")
        seeds += range(int(first), int(last or first) + 1)
    if not seeds:
        raise InvalidInput(f"--seeds {text!r} names no seed; write the smaller number first, such as 0-9.")
    return tuple(dict.fromkeys(seeds))


def read_names(text: str) -> tuple[str, ...]:
    """Names from comma-separated text, each once. A name with a comma, or with spaces around it, stands in double
    quotes, as in CSV, and a double quote in it is written twice.
    """
    names, rest = [], f"{text},"
    while rest:
        found = _NAME.match(rest)
        if found is None:
            raise InvalidInput(
                f"{text!r} cannot be read as names; separate them by commas, and put a name with a comma in double "
                """quotes, such as 'age,"income, yearly"'."""
            )
        quoted, plain = found.groups()
        names.append(plain.strip() if quoted is None else quoted.replace('""', '"'))
        rest = rest[found.end() :]
    return tuple(dict.fromkeys(name for name in names if name.strip()))


def read_sensitive(text: str) -> tuple[str, ...]:
    """Names of at least one sensitive column."""
    names = read_names(text)
    if not names:
        raise InvalidInput("--sensitive names no column; pass at least one, such as --sensitive age,income.")
    return names


def as_option(names: Iterable[object]) -> str:
    """Names as :func:`read_names` reads them."""
    return ",".join(_quoted(str(name)) for name in names)


def _quoted(name: str) -> str:
    if name == name.strip() and not set(name) & set(',"'):
        return name
    return '"' + name.replace('"', '""') + '"'


def make_executor(name: str, **options: Any) -> Executor:
    """The executor of this name, with the given options; an option of another executor is an error."""
    from fairlevel.executors import EXECUTORS

    given = {option: value for option, value in options.items() if value is not None}
    own = {field.name for field in fields(EXECUTORS[name])}
    for option in given:
        if option not in own:
            raise InvalidInput(f"--{option} does not belong to --executor {name}; leave it out.")
    return EXECUTORS[name](**given)

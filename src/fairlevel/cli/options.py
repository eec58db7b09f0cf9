"""Readers of options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fairlevel.exceptions import InvalidInput

_NAME = re.compile(r'\s*+(?:"((?:[^"]|"")*+)"\s*|(?!")([^,]*)),')


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

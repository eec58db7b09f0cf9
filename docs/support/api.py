"""Public names on the API page: one sentence on a code host, the whole docstring on the site."""

from __future__ import annotations

import inspect
import re
from importlib import import_module

NAME = re.compile(
    r"^<!-- api (?P<name>[\w.]+)(?:: (?P<members>[\w, ]+))? -->\n(?P<sentence>.*?)^<!-- end -->\n",
    re.DOTALL | re.MULTILINE,
)
DIRECTIVE = re.compile(
    r"^::: (?P<name>[\w.]+)\n(?:    options:\n(?:      members: \[(?P<members>[\w, ]+)\]\n|      .*\n)*)?", re.MULTILINE
)


def sentences(text: str) -> str:
    """The page with the first sentence of each docstring, for readers of the source."""

    def described(found: re.Match[str]) -> str:
        return _mark(found).replace("<!-- end", _sentence(found["name"], found["members"]) + "<!-- end")

    return NAME.sub(described, DIRECTIVE.sub(_mark, text))


def directives(text: str) -> str:
    """The page with directives of mkdocstrings, which draws whole docstrings."""

    def directive(found: re.Match[str]) -> str:
        options = f"    options:\n      members: [{found['members']}]\n" if found["members"] else ""
        if ".exceptions." in found["name"]:
            options += "    options:\n      merge_init_into_class: false\n"
        return f"::: {found['name']}\n{options}\n"

    return NAME.sub(directive, text)


def _mark(found: re.Match[str]) -> str:
    members = f": {found['members']}" if found["members"] else ""
    return f"<!-- api {found['name']}{members} -->\n<!-- end -->\n"


def _sentence(name: str, members: str | None) -> str:
    module, _, word = name.rpartition(".")
    first = inspect.cleandoc(getattr(import_module(module), word).__doc__).split("\n\n")[0]
    plain = re.sub(r":\w+:`([^`]+)`", r"`\1`", " ".join(first.split())).replace("``", "`")
    methods = "" if members is None else f" Members: {', '.join(f'`{each}`' for each in members.split(', '))}."
    return f"- **`{name}`**: {plain}{methods}\n"

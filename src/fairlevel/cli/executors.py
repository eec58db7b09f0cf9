"""Executors from options of the command line."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from fairlevel.exceptions import InvalidInput

if TYPE_CHECKING:
    from fairlevel.executors import Executor


def make_executor(name: str, **options: Any) -> Executor:
    """The executor of this name, with the given options; an option of another executor is an error."""
    from fairlevel.executors import EXECUTORS

    given = {option: value for option, value in options.items() if value is not None}
    own = {field.name for field in fields(EXECUTORS[name])}
    for option in given:
        if option not in own:
            raise InvalidInput(f"--{option} does not belong to --executor {name}; leave it out.")
    return EXECUTORS[name](**given)

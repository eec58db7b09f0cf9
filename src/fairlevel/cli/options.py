"""Options that several commands read in the same way."""

from __future__ import annotations

from fairlevel.exceptions import InvalidInput


def read_seeds(text: str) -> tuple[int, ...]:
    """``0-2`` or ``0,3,5`` or a mixture -> seeds, each once."""
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
    """Comma-separated names, each once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))

"""Names of the models of a front in files and on pages: point-01 is row 0."""

from __future__ import annotations

_PREFIX = "point-"


def point_name(row: int) -> str:
    """The name of a row of a front, counted from 0."""
    return f"{_PREFIX}{row + 1:02d}"


def point_row(name: str) -> int:
    """The row that :func:`point_name` has given this name."""
    return int(name.removeprefix(_PREFIX)) - 1

"""Names of the models of a front in files and on pages: point-01 is row 0."""

from __future__ import annotations


def point_name(row: int) -> str:
    """The name of a row of a front, counted from 0."""
    return f"point-{row + 1:02d}"

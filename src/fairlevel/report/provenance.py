"""Where the figures of a page come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from fairlevel._version import __version__


@dataclass(frozen=True)
class Provenance:
    """What a reader needs to judge and to repeat a report. What is not known is left out of the page.

    Attributes
    ----------
    file : name of the table that was read
    rows_in_file, rows_used, rows_dropped : counts; sampled rows are in the file and neither used nor dropped
    why_dropped : what the rows that were dropped lack
    columns : from a role, such as "sensitive", to names of columns
    settings : from the name of a setting to its value
    seed : of everything random
    method : how the figures were made, in sentences
    made : when
    version : of this package
    """

    file: str = ""
    rows_in_file: int | None = None
    rows_used: int | None = None
    rows_dropped: int | None = None
    why_dropped: str = ""
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    seed: int | None = None
    method: tuple[str, ...] = ()
    made: datetime = field(default_factory=lambda: datetime.now(UTC))
    version: str = __version__

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Names and values in the order of the page."""
        found = [
            ("table", self.file),
            ("rows", self._rows()),
            *(_listed(role, names) for role, names in self.columns.items() if names),
            *((name, str(value)) for name, value in self.settings.items()),
            ("seed", "" if self.seed is None else str(self.seed)),
            ("made", f"{self.made.astimezone(UTC):%Y-%m-%d %H:%M} UTC"),
            ("version", f"fairlevel {self.version}"),
        ]
        return tuple((name, value) for name, value in found if value)

    def _rows(self) -> str:
        parts = [] if self.rows_used is None else [f"{self.rows_used:,} used"]
        if self.rows_dropped is not None:
            why = f" ({self.why_dropped})" if self.rows_dropped and self.why_dropped else ""
            parts.append(f"{self.rows_dropped:,} dropped{why}")
        if self.rows_in_file is not None:
            parts.append(f"{self.rows_in_file:,} in the file")
        return ", ".join(parts)


def _listed(role: str, names: Sequence[str]) -> tuple[str, str]:
    if len(names) == 1:
        return f"{role} column", names[0]
    return f"{role} columns", f"{len(names):,}: {', '.join(names)}"

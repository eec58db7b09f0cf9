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
        why = f" ({self.why_dropped})" if self.rows_dropped and self.why_dropped else ""
        counts = {"used": self.rows_used, f"dropped{why}": self.rows_dropped, "in the file": self.rows_in_file}
        facts = {
            "table": self.file,
            "rows": ", ".join(f"{count:,} {what}" for what, count in counts.items() if count is not None),
        }
        for role, names in self.columns.items():
            several = len(names) > 1
            facts[f"{role} columns" if several else f"{role} column"] = f"{len(names):,}: " * several + ", ".join(names)
        facts |= {name: str(value) for name, value in self.settings.items()}
        facts |= {
            "seed": "" if self.seed is None else str(self.seed),
            "made": f"{self.made.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
            "version": f"fairlevel {self.version}",
        }
        return tuple((name, value) for name, value in facts.items() if value)

"""Which columns of a file have which role in ``fairlevel front``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairlevel.cli.checks import require_columns
from fairlevel.cli.options import read_names, read_sensitive


@dataclass(frozen=True)
class FrontColumns:
    """Names of columns by their role; columns without one are features, those in ``dropped`` are left out."""

    target: str
    sensitive: tuple[str, ...]
    given: tuple[str, ...]
    weight: str | None
    dropped: tuple[str, ...]
    categories: tuple[str, ...]

    @classmethod
    def read(
        cls, target: str, sensitive: str, given: str, weight: str | None, drop: str, categories: str
    ) -> FrontColumns:
        """From the text of the options, in which names are separated by commas."""
        return cls(
            target, read_sensitive(sensitive), read_names(given), weight, read_names(drop), read_names(categories)
        )

    def require_in(self, file: Path) -> None:
        """Raise an error if a column is not in the file."""
        require_columns(file, (self.target, *self.sensitive, *self.given, self.weight, *self.dropped, *self.categories))

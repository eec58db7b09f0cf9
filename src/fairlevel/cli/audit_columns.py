"""Which columns have which role in ``fairlevel audit``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairlevel.cli.checks import READERS, column_names
from fairlevel.cli.options import read_names, read_sensitive
from fairlevel.exceptions import InvalidInput

if TYPE_CHECKING:
    from fairlevel.data.stored_rows import Roles


@dataclass(frozen=True)
class AuditColumns:
    """Names of columns by their role."""

    predictions: tuple[str, ...]
    sensitive: tuple[str, ...]
    given: tuple[str, ...]
    categories: tuple[str, ...]
    target: str | None
    by: str | None
    weight: str | None
    groups: str | None

    def __post_init__(self) -> None:
        if not self.predictions:
            raise InvalidInput("--prediction names no column; pass at least one, such as --prediction score.")
        for role, column in (("--target", self.target), *(("--prediction", each) for each in self.predictions)):
            if column in self.sensitive:
                raise InvalidInput(f"{role} {column} is also named in --sensitive; a column has one role.")
        for column in self.predictions:
            if column in self.given:
                raise InvalidInput(
                    f"--prediction {column} is also named in --given; within rows of the same prediction nothing is "
                    "left to compare: name legitimate factors, or leave --given out."
                )

    @classmethod
    def read(
        cls, files: list[str], prediction: str, sensitive: str, given: str | None, categories: str, **others: str | None
    ) -> AuditColumns:
        """From the text of the options, in which names are separated by commas; ``others`` are single names."""
        predictions = (prediction,) if _in_file(files, prediction) else read_names(prediction)
        return cls(predictions, read_sensitive(sensitive), read_names(given or ""), read_names(categories), **others)

    @property
    def used(self) -> list[str]:
        """The columns that are read."""
        single = [name for name in (self.target, self.by, self.weight, self.groups) if name is not None]
        return [*self.predictions, *self.sensitive, *single, *self.given]

    def roles(self, positive: str | None) -> Roles:
        """As an audit of stored rows has them; ``positive`` is the word of the target that counts as 1."""
        from fairlevel.data.stored_rows import Roles  # which loads libraries

        return Roles(**vars(self), positive=positive, lenient=True)


def _in_file(files: list[str], column: str) -> bool:
    """Whether a column of one file has this name, commas and all."""
    file = Path(files[0])
    return len(files) == 1 and file.is_file() and file.suffix.lower() in READERS and column in column_names(file)

"""The learnt rules of a table's columns: from a table to a matrix, without scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.data.column_rules import Rule, Values, plain_rule, rule_from
from fairlevel.data.columns import GAPS, Numbers, Reading, refuse_unreadable
from fairlevel.data.numbers import as_cells, refuse_lazy
from fairlevel.exceptions import InvalidInput, InvalidType, UnreadableCells, UnseenLevels

MANY_UNSEEN = 0.05  # a larger share of rows with unseen categories is worth a warning


@dataclass(frozen=True)
class TableRules:
    """One rule per column that is used; ``unreadable`` is "error", or "impute": such cells count as missing."""

    rules: tuple[Rule, ...]
    unreadable: str = "error"

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the columns of the matrix."""
        return tuple(name for rule in self.rules for name in rule.outputs)

    @property
    def needed(self) -> tuple[str, ...]:
        """Names of the columns that a table must have."""
        return tuple(rule.name for rule in self.rules)

    @property
    def as_text(self) -> tuple[str, ...]:
        """Columns that a file of text should hand over as written, because their rule is not that of plain numbers."""
        return tuple(rule.name for rule in self.rules if rule.reads != Numbers())

    @property
    def words(self) -> tuple[str, ...]:
        """Columns of text in which a word such as NA is a category, and no gap."""
        return tuple(rule.name for rule in self.rules if {*GAPS} & {*getattr(rule, "categories", ())})

    def transform(self, X: Any) -> Array:
        """(row, column of the table) -> (row, column of the matrix); columns that are not needed are ignored."""
        frame = named_columns(X)
        readings = self.read(frame)
        for rule in self.rules:
            if self.unreadable == "error":
                refuse_unreadable(rule.name, rule.reads, frame[rule.name], readings[rule.name].unreadable)
        counts = {name: int(reading.unreadable.sum()) for name, reading in readings.items()}
        _warn(UnreadableCells, "Cells that cannot be read count as missing", counts, len(frame))
        columns = {name: reading.values for name, reading in readings.items()}
        many = {name: count for name, count in self.unseen(columns).items() if count >= MANY_UNSEEN * len(frame)}
        _warn(UnseenLevels, "Categories that the training rows lack", many, len(frame))
        return self.encode(columns)

    def read(self, frame: pd.DataFrame) -> dict[str, Reading]:
        """The columns that are needed, by name, each read by its rule."""
        missing = [name for name in self.needed if name not in frame]
        if missing:
            raise InvalidInput(
                f"The table lacks {', '.join(map(repr, missing))}, which the encoder was fitted on; it needs "
                f"{', '.join(map(repr, self.needed))}."
            )
        return {rule.name: rule.reads.read(frame[rule.name]) for rule in self.rules}

    def encode(self, columns: Mapping[str, Values]) -> Array:
        """Columns that have been read -> (row, column of the matrix)."""
        return np.hstack([rule.encode(columns[rule.name]) for rule in self.rules])

    def unseen(self, columns: Mapping[str, Values]) -> dict[str, int]:
        """For each column the number of rows whose category the training rows lack."""
        return {rule.name: rule.unseen(columns[rule.name]) for rule in self.rules}

    def to_plain(self) -> list[Any]:
        """Plain values, ready for JSON."""
        return [plain_rule(rule) for rule in self.rules]

    @classmethod
    def from_plain(cls, values: Any, unreadable: str = "error") -> Self:
        """What :meth:`to_plain` wrote."""
        return cls(tuple(map(rule_from, values)), unreadable)


def named_columns(X: Any) -> pd.DataFrame:
    """A table with names; columns of an array are x0, x1, …"""
    if isinstance(X, pd.DataFrame):
        return X.rename(columns=str)
    if hasattr(X, "to_pandas"):
        return X.to_pandas()  # type: ignore[no-any-return]
    refuse_lazy("X", X)
    if hasattr(X, "toarray"):
        raise InvalidType("X is a sparse matrix; TableEncoder reads tables: pass a DataFrame, or X.toarray().")
    array = as_cells(X)
    if array.ndim != 2:
        raise InvalidInput(
            f"Expected 2D array, got {array.ndim}D array instead: a table of shape (rows, columns) is needed. Reshape "
            "your data, such as with X.reshape(-1, 1)."
        )
    return pd.DataFrame(array, columns=[f"x{number}" for number in range(array.shape[1])])


def _warn(category: type[Warning], what: str, counts: Mapping[str, int], rows: int) -> None:
    found = [f"{name!r} {count} of {rows} rows" for name, count in counts.items() if count]
    if found:
        warnings.warn(f"{what}: {', '.join(found)}.", category, stacklevel=4)

"""Splits of rows by seed: at random, by groups that stay together, or in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd

from fairlevel.arrays import Index
from fairlevel.data.columns import Dates, Numbers, kind_of
from fairlevel.data.numbers import refuse_lazy, refuse_other_kinds
from fairlevel.exceptions import InvalidInput, InvalidType


def folds(rows: int, count: int, seed: int) -> Index:
    """A random fold number for each row; sizes differ by at most one."""
    return np.random.default_rng(seed).permutation(np.arange(rows) % count)


def split_off(rows: int, fraction: float, seed: int) -> tuple[Index, Index]:
    """Row numbers of the (training, held-out) part, both shuffled; at least one row in each."""
    held = max(1, round(fraction * rows))
    if held >= rows:
        raise InvalidInput(
            f"{rows} rows cannot be split with validation_fraction={fraction:g}; at least "
            f"{int(np.ceil(1 / (1 - fraction))) + 1} rows are needed, or validation_fraction=None."
        )
    order = np.random.default_rng(seed).permutation(rows)
    return order[held:], order[:held]


class Splitting(Protocol):
    """Which rows may stand on different sides of a split."""

    @property
    def groups(self) -> Index | None:
        """Which rows belong together, (row,); None: all are independent."""

    @property
    def in_time(self) -> bool:
        """Whether held-out rows must be later than the others."""

    def __len__(self) -> int:
        """How many rows there are."""

    def take(self, rows: Index) -> Self:
        """Of some of the rows."""

    def folds(self, count: int, seed: int) -> Index:
        """A fold number for each row, (row,)."""

    def split_off(self, fraction: float, seed: int) -> tuple[Index, Index]:
        """Row numbers of the (training, held-out) part."""

    def others(self, part: Index) -> Index:
        """Row numbers that may train what is judged on ``part``, ascending."""


@dataclass(frozen=True)
class AnyRows:
    """All rows are independent."""

    rows: int
    groups: None = None
    in_time: bool = False

    def __len__(self) -> int:
        return self.rows

    def take(self, rows: Index) -> AnyRows:
        return AnyRows(len(rows))

    def folds(self, count: int, seed: int) -> Index:
        return folds(self.rows, count, seed)

    def split_off(self, fraction: float, seed: int) -> tuple[Index, Index]:
        return split_off(self.rows, fraction, seed)

    def others(self, part: Index) -> Index:
        return np.setdiff1d(np.arange(self.rows), part)


@dataclass(frozen=True)
class WholeGroups:
    """Rows of a group stay on one side of every split."""

    groups: Index
    in_time: bool = False

    def __len__(self) -> int:
        return len(self.groups)

    def take(self, rows: Index) -> WholeGroups:
        """Groups are numbered anew, as if other rows had never been there."""
        return WholeGroups(pd.factorize(self.groups[rows])[0])

    def folds(self, count: int, seed: int) -> Index:
        found: Index = folds(self._count, count, seed)[self._numbers]
        return found

    def split_off(self, fraction: float, seed: int) -> tuple[Index, Index]:
        _, held = split_off(self._count, fraction, seed)
        inside = np.isin(self._numbers, held)
        order = np.random.default_rng(seed).permutation(len(inside))
        return order[~inside[order]], order[inside[order]]

    def others(self, part: Index) -> Index:
        return np.flatnonzero(~np.isin(self.groups, self.groups[part]))

    @property
    def _numbers(self) -> Index:
        found: Index = np.unique(self.groups, return_inverse=True)[1]
        return found

    @property
    def _count(self) -> int:
        return int(self._numbers.max()) + 1


@dataclass(frozen=True)
class InTime:
    """Held-out rows are the latest; ``place`` orders rows in time, (row,)."""

    place: Index
    groups: None = None
    in_time: bool = True

    def __len__(self) -> int:
        return len(self.place)

    def take(self, rows: Index) -> InTime:
        return InTime(self.place[rows])

    def folds(self, count: int, seed: int) -> Index:
        """Stretches of time, as long as each other."""
        found = np.empty(len(self.place), dtype=np.int64)
        found[np.argsort(self.place, kind="stable")] = np.arange(len(found)) * count // len(found)
        return found

    def split_off(self, fraction: float, seed: int) -> tuple[Index, Index]:
        kept, held = split_off(len(self.place), fraction, seed)
        order = np.argsort(self.place, kind="stable")
        return np.random.default_rng(seed).permutation(order[: len(kept)]), order[-len(held) :]

    def others(self, part: Index) -> Index:
        """Rows that are not later than any of the part."""
        return np.setdiff1d(np.flatnonzero(self.place <= self.place[part].min()), part)


def read_splitting(groups: Any, time: Any, y: Any) -> Splitting | None:
    """From labels of groups or from times, one per row of y; None where neither was given."""
    if groups is None and time is None:
        return None
    rows = len(np.asarray(y))
    if groups is not None and time is not None:
        raise InvalidInput("groups and time were both given; splits can keep one of them.")
    if groups is not None:
        return WholeGroups(read_groups(groups, rows))
    return InTime(_read_time(time, rows))


def read_groups(groups: Any, rows: int) -> Index:
    """A number for each row, the same for rows with the same label."""
    if np.ma.isMaskedArray(groups):
        refuse_other_kinds("groups", groups)
    labels = _one_per_row("groups", groups, rows)
    if labels.isna().any():
        raise InvalidInput(
            f"groups holds {int(labels.isna().sum())} missing labels; give such rows labels of their own."
        )
    numbers: Index = pd.factorize(labels)[0].astype(np.int64)
    if numbers.max(initial=0) < 1:
        raise InvalidInput(
            "groups has one label for all rows; at least 2 independent groups are needed. Leave groups out if rows are "
            "independent."
        )
    return numbers


def _one_per_row(name: str, values: Any, rows: int) -> pd.Series:
    """A column of one entry per row, in the byte order of this machine."""
    refuse_lazy(name, values)
    given = np.asarray(values)
    if given.dtype.kind == "V":
        choice = f", such as {name}[{given.dtype.names[0]!r}]" if given.dtype.names else ""
        raise InvalidType(f"{name} holds {given.dtype} in each row; one label per row is needed{choice}.")
    if given.shape[:1] != (rows,) or given.size != rows:
        raise InvalidInput(f"{name} has shape {given.shape} for {rows} rows; one label per row is needed.")
    return pd.Series(given.reshape(-1).astype(given.dtype.newbyteorder("=")))


def _read_time(time: Any, rows: int) -> Index:
    """Ranks of numbers or dates, the same for the same time."""
    if np.asarray(time).dtype.kind == "c" or np.ma.isMaskedArray(time):
        refuse_other_kinds("time", time)
    given = _one_per_row("time", time, rows)
    if given.isna().any():
        raise InvalidInput(f"time holds {int(given.isna().sum())} missing entries; drop those rows.")
    if given.dtype == object or pd.api.types.is_string_dtype(given):
        given = _read_text_time(given)
    return given.rank(method="dense").to_numpy().astype(np.int64)


def _read_text_time(given: pd.Series) -> pd.Series:
    """Text as numbers or days, (row,), in the one format that all entries have."""
    kind = kind_of("time", given)
    if not isinstance(kind, Numbers | Dates):
        numbers = pd.to_numeric(given, errors="coerce")
        if numbers.notna().all():
            return numbers
        raise InvalidInput(
            f"time holds {given.iloc[0]!r}, which is neither a number nor a date; pass pandas.to_datetime(...)."
        )
    return pd.Series(kind.read(given).values)

"""Splits of rows by seed: at random, by groups that stay together, or in time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

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


@dataclass(frozen=True)
class WholeGroups:
    """Rows of a group stay on one side of every split; ``labels`` are equal for those of one group, (row,)."""

    labels: Index

    in_time: ClassVar[bool] = False
    """Whether held-out rows must be later than the others."""

    @property
    def groups(self) -> Index | None:
        """Which rows belong together, (row,); None where all are independent."""
        return self.labels

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Index) -> WholeGroups:
        """Of some of the rows. Groups are numbered anew, as if other rows had never been there."""
        return WholeGroups(pd.factorize(self.labels[rows])[0])

    def folds(self, count: int, seed: int) -> Index:
        """A fold number for each row, (row,)."""
        fold: Index = folds(int(self._numbers.max()) + 1, count, seed)[self._numbers]
        return fold

    def split_off(self, fraction: float, seed: int) -> tuple[Index, Index]:
        """Row numbers of the (training, held-out) part."""
        _, held = split_off(int(self._numbers.max()) + 1, fraction, seed)
        inside = np.isin(self._numbers, held)
        order = np.random.default_rng(seed).permutation(len(inside))
        return order[~inside[order]], order[inside[order]]

    def others(self, part: Index) -> Index:
        """Row numbers that may train what is judged on ``part``, ascending."""
        return np.flatnonzero(~np.isin(self.labels, self.labels[part]))

    @cached_property
    def _numbers(self) -> Index:
        """Numbers of the groups, from 0 on; (row,)."""
        numbers: Index = np.unique(self.labels, return_inverse=True)[1]
        return numbers


class AnyRows(WholeGroups):
    """All rows are independent: each is a group of its own."""

    def __init__(self, rows: int) -> None:
        super().__init__(np.arange(rows))

    @property
    def groups(self) -> None:
        return None

    def take(self, rows: Index) -> AnyRows:
        return AnyRows(len(rows))


@dataclass(frozen=True)
class InTime:
    """Held-out rows are the latest; ``rank`` orders rows in time, (row,)."""

    rank: Index

    groups: ClassVar[None] = None
    in_time: ClassVar[bool] = True

    def __len__(self) -> int:
        return len(self.rank)

    def take(self, rows: Index) -> InTime:
        return InTime(self.rank[rows])

    def folds(self, count: int, seed: int) -> Index:
        """Stretches of time, as long as each other."""
        fold = np.empty(len(self.rank), dtype=np.int64)
        fold[np.argsort(self.rank, kind="stable")] = np.arange(len(fold)) * count // len(fold)
        return fold

    def split_off(self, fraction: float, seed: int) -> tuple[Index, Index]:
        training, held = split_off(len(self.rank), fraction, seed)
        order = np.argsort(self.rank, kind="stable")
        return np.random.default_rng(seed).permutation(order[: len(training)]), order[-len(held) :]

    def others(self, part: Index) -> Index:
        """Rows that are not later than any of the part."""
        return np.setdiff1d(np.flatnonzero(self.rank <= self.rank[part].min()), part)


Splitting = WholeGroups | InTime
"""Which rows may stand on different sides of a split; the methods are explained in :class:`WholeGroups`."""


def read_splitting(groups: Any, time: Any, y: Any) -> Splitting | None:
    """From labels of groups or from times, one per row of y; None where neither was given."""
    if groups is not None and time is not None:
        raise InvalidInput("groups and time were both given; splits can keep one of them.")
    if time is not None:
        return InTime(_read_time(time, len(np.asarray(y))))
    return None if groups is None else WholeGroups(read_groups(groups, len(np.asarray(y))))


def read_groups(groups: Any, rows: int) -> Index:
    """A number for each row, the same for rows with the same label."""
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


def _read_time(time: Any, rows: int) -> Index:
    """Ranks of numbers or dates, or of text in the one format that all entries have; the same for the same time."""
    moments = _one_per_row("time", time, rows)
    if moments.dtype.kind == "c":
        refuse_other_kinds("time", moments)
    if moments.isna().any():
        raise InvalidInput(f"time holds {int(moments.isna().sum())} missing entries; drop those rows.")
    if moments.dtype == object or pd.api.types.is_string_dtype(moments):
        kind = kind_of("time", moments)
        ordered = pd.Series((kind if isinstance(kind, Numbers | Dates) else Numbers()).read(moments))
        if ordered.isna().any():
            raise InvalidInput(
                f"time holds {moments.iloc[0]!r}, which is neither a number nor a date; pass pandas.to_datetime(...)."
            )
        moments = ordered
    return moments.rank(method="dense").to_numpy().astype(np.int64)


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

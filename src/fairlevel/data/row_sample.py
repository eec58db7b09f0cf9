"""A random sample of stored rows in memory, and counts of all rows, from one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as arrow
from pyarrow import compute, types

from fairlevel.arrays import Flags
from fairlevel.data.columns import MISSING
from fairlevel.data.numbers import LARGEST
from fairlevel.data.sensitive import MOST_CATEGORIES_OF_FACTORS, as_frame, is_number
from fairlevel.data.stored_rows import DATES, NUMBERS, TEXTS, batches, is_any, open_rows, readable
from fairlevel.exceptions import InvalidInput, InvalidType

FEW_ROWS = 5  # of a category; what fewer sampled rows say of it is next to nothing
WEIGHT_0 = "weight 0"


@dataclass(frozen=True)
class Roles:
    """Names of columns by what they are to an audit; ``categories`` hold categories although they look like numbers.

    Rows without a number of an attribute are left out. A prediction, a target or a weight that is missing is an error,
    but with ``lenient`` rows without a target or a weight are left out, too. ``positive`` is the word of the target
    that counts as 1, where it holds two words.
    """

    predictions: tuple[str, ...]
    sensitive: tuple[str, ...]
    given: tuple[str, ...] = ()
    target: str | None = None
    weight: str | None = None
    by: str | None = None
    groups: str | None = None
    categories: tuple[str, ...] = ()
    positive: str | None = None
    lenient: bool = False

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.sensitive, *self.given)))

    @property
    def values(self) -> tuple[str, ...]:
        """Columns of numbers that are no attributes."""
        return tuple(dict.fromkeys((*self.predictions, *filter(None, (self.target, self.weight)))))

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read."""
        return tuple(dict.fromkeys((*self.values, *self.attributes, *filter(None, (self.by, self.groups)))))


@dataclass
class RowSample:
    """A random sample of ``rows`` rows, without those that do not count, and what one pass over all rows has counted.

    Attributes
    ----------
    rows, used : all rows, and those of them that count
    sampled : whether the frame holds a part of the rows only
    left_out : rows that do not count, by the column in which they lack a number, and those of weight 0
    levels : rows by category, for each attribute that holds categories
    frame : the sampled rows that count, in the order of the files
    """

    rows: int
    sampled: bool
    used: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    levels: dict[str, Counter[Any]] = field(default_factory=dict)
    frame: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def missing(self) -> dict[str, int]:
        """By column, rows whose category is missing, which is a category of its own."""
        counts = {name: levels[None] + levels[MISSING] for name, levels in self.levels.items()}
        return {name: count for name, count in counts.items() if count}

    @property
    def not_sampled(self) -> dict[str, int]:
        """Rows by category, of categories of which the frame has next to none, though there are more."""
        few: dict[str, int] = {}
        for name, levels in self.levels.items():
            own = self.frame[name].value_counts().to_dict() | {None: int(self.frame[name].isna().sum())}
            few |= {
                f"{name} = {MISSING if level is None else level}": count
                for level, count in levels.items()
                if own.get(level, 0) < min(FEW_ROWS, count)
            }
        return few


def sample_rows(source: Any, roles: Roles, most: int, seed: int) -> RowSample:
    """At most ``most`` rows, each with the same chance, from one pass that also counts. The rows that the frame holds
    depend on the number of all rows and the seed alone.
    """
    dataset = open_rows(source, roles.names)
    with readable():
        total = dataset.count_rows()
    if total < 2:
        raise InvalidInput(f"The files have {total} rows; at least 2 are needed.")
    columns = _columns(dataset.schema, roles)
    found = RowSample(total, total > most)
    for name in roles.attributes:
        if name in roles.categories or is_any(dataset.schema.field(name).type, *TEXTS, types.is_boolean):
            found.levels[name] = Counter()
    drawn = np.arange(total)
    if found.sampled:
        drawn = np.sort(np.random.default_rng(seed).choice(total, most, replace=False))
    picked, start = [], 0
    for batch in batches(dataset, columns):
        first, last = np.searchsorted(drawn, [start, start + batch.num_rows])
        positions = drawn[first:last] - start
        start += batch.num_rows
        counted = _counted(batch, roles, found)
        picked.append(batch.take(pa.array(positions[counted[positions]])))
        rows = batch if counted.all() else batch.filter(pa.array(counted))
        _refuse_bad(rows, [name for name in roles.names if name not in (*found.levels, roles.by, roles.groups)])
        _count_levels(rows, found.levels)
        found.used += rows.num_rows
    frame = pa.Table.from_batches(picked).to_pandas(ignore_metadata=True)
    found.frame = frame.astype({name: "category" for name in roles.categories if name in frame})
    if len(frame) < 2:
        raise InvalidInput("Fewer than 2 rows have all sensitive values and a weight above 0; more are needed.")
    if found.sampled:
        _keep_categories(found)
    return found


def _counted(batch: pa.RecordBatch, roles: Roles, found: RowSample) -> Flags:
    """Which rows count, (row,); what the others lack is added to ``found``."""
    counted = np.ones(batch.num_rows, dtype=bool)
    gaps = {}
    if roles.lenient:
        gaps = {name: ~np.isfinite(_numpy(batch.column(name))) for name in (roles.target, roles.weight) if name}
    numeric = [name for name in roles.attributes if name not in found.levels]
    gaps |= {name: _numpy(batch.column(name).is_null(nan_is_null=True)) for name in numeric}
    for name, missing in gaps.items():
        if missing.any():
            found.left_out[name] += int(missing.sum())
            counted &= ~missing
    if roles.weight is not None:
        weight = _numpy(batch.column(roles.weight))
        known = weight[counted]
        if not (np.isfinite(known).all() and (known >= 0).all() and known.max(initial=0) <= LARGEST):
            raise InvalidInput(
                f"Column {roles.weight!r} holds weights that are missing, infinite or negative; finite weights ≥ 0 are "
                "needed: use 0 for rows that should not count."
            )
        zero = counted & (weight == 0)
        if zero.any():
            found.left_out[WEIGHT_0] += int(zero.sum())
            counted &= ~zero
    return counted


def _refuse_bad(rows: pa.RecordBatch, numeric: Sequence[str]) -> None:
    """Numbers that cannot be computed with, wherever they are: the sample may not have them."""
    for name in numeric:
        column = rows.column(name)
        bad = int((~(np.abs(_numpy(column)) <= LARGEST)).sum()) if types.is_floating(column.type) else 0
        if bad:
            raise InvalidInput(
                f"Column {name!r} holds {bad} missing, infinite or huge values in one part of the rows; drop those "
                "rows from the files."
            )


def _count_levels(rows: pa.RecordBatch, levels: Mapping[str, Counter[Any]]) -> None:
    """Columns of very many values are not counted on: they may hold dates, or text of any kind."""
    for name, counts in levels.items():
        if len(counts) <= MOST_CATEGORIES_OF_FACTORS:
            found = compute.value_counts(rows.column(name))
            for level, count in zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True):
                counts[None if level != level else level] += count


def _keep_categories(found: RowSample) -> None:
    """Text that is dates or numbers has no categories; too many categories are an error."""
    for name, counts in found.levels.items():
        if is_number(as_frame(found.frame[[name]])[name].dtype):
            counts.clear()
        elif len(counts) > MOST_CATEGORIES_OF_FACTORS:
            raise InvalidInput(
                f"Column {name!r} has more than {MOST_CATEGORIES_OF_FACTORS} categories; merge categories, or store "
                "numbers as numbers."
            )


def _columns(schema: pa.Schema, roles: Roles) -> dict[str, arrow.Expression]:
    """What is read: predictions, target and weight as 64-bit numbers, others as they are."""
    columns = {name: arrow.field(name) for name in roles.names}
    for name in roles.values:
        if name in roles.attributes:
            raise InvalidInput(f"Column {name!r} is named as an attribute and in another role; a column has one role.")
        kind, column = schema.field(name).type, columns[name]
        if name == roles.target and roles.positive is not None and is_any(kind, *TEXTS):
            column = column.cast(pa.string()) == roles.positive
        elif not is_any(kind, *NUMBERS):
            raise InvalidInput(f"Column {name!r} holds values of type {kind}; numbers are needed.")
        columns[name] = column.cast(pa.float64())
    for name in roles.attributes:
        kind = schema.field(name).type
        if types.is_decimal(kind):
            columns[name] = columns[name].cast(pa.float64())
        elif not is_any(kind, *NUMBERS, *TEXTS, *DATES):
            raise InvalidType(
                f"Column {name!r} holds values of type {kind}; numbers, dates, truths or text are needed."
            )
    return columns


def _numpy(values: pa.Array) -> Any:
    return values.to_numpy(zero_copy_only=False)

"""The first read of stored rows: categories, ranges, gaps, and a random sample on which functions of A are fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from fairlevel.arrays import Array, Flags, Index
from fairlevel.auditing.stored_rows import Roles
from fairlevel.data.batch_columns import BatchColumn, categories, is_category, numbers, refuse_many_levels
from fairlevel.data.parquet_parts import ParquetRows, Part
from fairlevel.data.splitting import MOST_RARE_ROWS
from fairlevel.exceptions import InvalidInput
from fairlevel.metrics.linear_estimators import SAMPLE_ROWS
from fairlevel.threads import map_on_single_threads

_BATCH = 16_384


@dataclass(frozen=True)
class Survey:
    """What one read of some rows finds.

    Parameters
    ----------
    used : how many rows count
    left_out : missing numbers by column; with "weight 0"
    ranges : smallest and largest number by column
    levels : categories by column
    sampled : sampled rows by their number: numbers, and categories as text
    rare_rows : the same of rows with values that the sample may not have
    rare_numbers : numbers of the first such rows, by column and category
    """

    used: int
    left_out: dict[str, int]
    ranges: dict[str, tuple[float, float]]
    levels: dict[str, frozenset[str]]
    sampled: pd.DataFrame
    rare_rows: pd.DataFrame
    rare_numbers: dict[tuple[str, str], Index]

    def __add__(self, other: Survey) -> Survey:
        """Both, the rows of ``other`` after these."""
        levels = {name: own | other.levels[name] for name, own in self.levels.items()}
        for name, own in levels.items():
            refuse_many_levels(name, sorted(own))
        first, second = self.rare_numbers, other.rare_numbers
        rare = {
            key: np.concatenate([first.get(key, _NONE), second.get(key, _NONE)])[:MOST_RARE_ROWS]
            for key in {**first, **second}
        }
        left_out = {
            name: self.left_out.get(name, 0) + other.left_out.get(name, 0)
            for name in {**self.left_out, **other.left_out}
        }
        ranges = {
            name: _joined(self.ranges.get(name), other.ranges.get(name)) for name in {**self.ranges, **other.ranges}
        }
        rare_rows = pd.concat([self.rare_rows, other.rare_rows])
        return Survey(
            self.used + other.used,
            left_out,
            ranges,
            levels,
            pd.concat([self.sampled, other.sampled]),
            rare_rows.loc[rare_rows.index.isin(np.concatenate([_NONE, *rare.values()]))],
            rare,
        )


_NONE = np.empty(0, dtype=np.int64)


def _joined(one: tuple[float, float] | None, other: tuple[float, float] | None) -> tuple[float, float]:
    if one is None or other is None:
        return one or other or (np.nan, np.nan)
    return min(one[0], other[0]), max(one[1], other[1])


@dataclass(frozen=True)
class Surveyor:
    """Surveys parts; ``drawn`` are the sampled row numbers, ascending. ``seen`` holds values that the sample surely
    has, for columns of categories and for columns that may be constant on it. Rows with other values are rare.
    """

    roles: Roles
    category: frozenset[str]
    drawn: Index
    seen: Mapping[str, frozenset[Any]]

    @classmethod
    def of(cls, table: ParquetRows, roles: Roles, drawn: Index) -> Surveyor:
        """For these files; ``drawn`` in the order of drawing."""
        category = frozenset(
            name for name in roles.attributes if is_category(name, table.kinds[name], roles.categories)
        )
        first = cls(roles, category, np.sort(drawn), {})
        for position in drawn:
            part = next(each for each in table.parts if each.start <= position < each.start + each.rows)
            sampled = first(part).sampled
            if len(sampled):
                values = {name: frozenset(sampled[name].tolist()) for name in roles.attributes}
                return replace(
                    first, seen={name: own for name, own in values.items() if name in category or len(own) == 1}
                )
        raise InvalidInput(
            "None of the sampled rows has all sensitive values and a weight above 0; such rows are needed."
        )

    def __call__(self, part: Part) -> Survey:
        return reduce(add, map_on_single_threads(self._of_batch, part.batches(self.roles.names, _BATCH)))

    def _of_batch(self, numbered: tuple[int, Mapping[str, pa.Array]]) -> Survey:
        start, batch = numbered
        numeric = self.roles.read_numeric(batch)
        columns: dict[str, Any] = dict(numeric)
        complete = np.ones(len(next(iter(numeric.values()))), dtype=bool)
        left_out: dict[str, int] = {}
        for name in dict.fromkeys(self.roles.attributes):
            if name in self.category:
                codes, distinct = categories(batch[name])
                columns[name] = np.array(distinct, dtype=object)[codes]
                continue
            columns[name] = numbers(name, batch[name])
            missing = np.isnan(columns[name])
            if missing.any():
                left_out[name] = int(missing.sum())
                complete &= ~missing
        used = self.roles.check(numeric, complete)
        if int(complete.sum()) > int(used.sum()):
            left_out["weight 0"] = int(complete.sum() - used.sum())
        number = start + np.arange(len(used))
        first, last = np.searchsorted(self.drawn, [start, start + len(used)])
        sampled = self.drawn[first:last] - start
        rare = {key: own for key, own in self._rare(columns, used).items() if len(own)}
        plain = [name for name in columns if name not in self.category]

        def rows(chosen: Index) -> pd.DataFrame:
            return pd.DataFrame({name: column[chosen] for name, column in columns.items()}, index=number[chosen])

        return Survey(
            int(used.sum()),
            left_out,
            {
                name: (float(columns[name][used].min()), float(columns[name][used].max()))
                for name in plain
                if used.any()
            },
            {name: frozenset(np.unique(columns[name][used]).tolist()) for name in self.category},
            rows(sampled[used[sampled]]),
            rows(np.unique(np.concatenate([_NONE, *rare.values()]))),
            {key: number[own] for key, own in rare.items()},
        )

    def _rare(self, columns: Mapping[str, Any], used: Flags) -> dict[tuple[str, str], Index]:
        """Positions of the first rows with a value that the sample may not have, by column and category."""
        rare = {}
        for name, known in self.seen.items():
            column = columns[name]
            if name not in self.category:
                rare[name, ""] = np.flatnonzero(used & (column != next(iter(known))))[:MOST_RARE_ROWS]
                continue
            for category in set(np.unique(column[used]).tolist()) - known:
                rare[name, category] = np.flatnonzero(used & (column == category))[:MOST_RARE_ROWS]
        return rare


def sampled_numbers(rows: int, seed: int) -> Index:
    """Numbers of the sampled rows, in the order of drawing: those that rows in memory would give."""
    return np.random.default_rng(seed).choice(rows, min(SAMPLE_ROWS, rows), replace=False)


def encoded(columns: tuple[BatchColumn, ...], frame: pd.DataFrame) -> Array:
    """Kept rows as numbers, (row, column)."""
    return np.hstack(
        [
            (frame[each.name].to_numpy()[:, None] == np.array(each.levels, dtype=object)).astype(np.float64)
            if each.levels
            else frame[each.name].to_numpy(dtype=np.float64)[:, None]
            for each in columns
        ]
    )

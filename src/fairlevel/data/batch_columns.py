"""Columns of a batch as numbers: one rule per column, fixed before the first sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute

from fairlevel.arrays import Array, Index
from fairlevel.data.columns import MISSING, Texts, kind_of, text_of
from fairlevel.data.parquet_parts import CATEGORY, TRUTH
from fairlevel.data.sensitive import MOST_CATEGORIES
from fairlevel.exceptions import InvalidInput, InvalidType

_MICROSECONDS = 86_400e6  # of a day


@dataclass(frozen=True)
class BatchColumn:
    """A column of numbers, or, with ``levels``, of categories, which become one column of zeros and ones each."""

    name: str
    levels: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns of numbers."""
        return tuple(f"{self.name}={level}" for level in self.levels) or (self.name,)

    def read(self, values: pa.Array) -> Array:
        """(row,) -> (row, column); numbers that are missing are NaN."""
        if not self.levels:
            return numbers(self.name, values)[:, None]
        codes, found = categories(values)
        places = {level: place for place, level in enumerate(self.levels)}
        unknown = [level for level in found if level not in places]
        if unknown:
            raise InvalidInput(
                f"Column {self.name!r} holds the category {unknown[0]!r}, which is not among the known ones "
                f"({', '.join(map(repr, self.levels[:5]))}); a baseline knows the categories of its own rows only."
            )
        matrix = np.zeros((len(values), len(self.levels)))
        matrix[np.arange(len(values)), np.array([places[level] for level in found], dtype=np.int64)[codes]] = 1.0
        return matrix


def numbers(name: str, values: pa.Array) -> Array:
    """Numbers in 64 bits, truths as 1 and 0, dates as days since 1970, NaN where missing; (row,)."""
    kind = values.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        moments = values.cast(pa.timestamp("us", tz=getattr(kind, "tz", None)), safe=False).cast(pa.int64())
        days: Array = moments.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False) / _MICROSECONDS
        return days
    try:
        read: Array = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid as error:
        raise InvalidType(f"Column {name!r} holds values that are not numbers ({error}); numbers are needed.") from None
    return read


def categories(values: pa.Array) -> tuple[Index, list[str]]:
    """The number of each cell's category and their names; a missing cell is a category of its own."""
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    names = [MISSING if each is None else text_of(each) for each in encoded.dictionary.to_pylist()]
    used, position = np.unique(codes, return_inverse=True)
    found = [MISSING if code < 0 else names[code] for code in used]
    distinct = sorted(set(found))
    return np.array([distinct.index(name) for name in found], dtype=np.int64)[position], distinct


def is_category(name: str, kind: str, asked: Sequence[str]) -> bool:
    """Whether a column holds categories: by its type, or because the user says so."""
    return kind in (CATEGORY, TRUTH) or name in asked


def category_column(name: str, levels: Sequence[str], declared: bool) -> BatchColumn:
    """A column of these categories; text that is numbers or dates is refused unless it is declared."""
    refuse_many_levels(name, levels)
    known = sorted(levels)
    if not declared:
        cells = pd.Series([level for level in known if level != MISSING], dtype=object)
        if len(cells) and set(cells) - {"True", "False"} and not isinstance(kind_of(name, cells), Texts):
            raise InvalidType(
                f"Column {name!r} holds {known[0]!r} as text; store it as numbers or dates, or name it in categories "
                "(--categories)."
            )
    return BatchColumn(name, tuple(known))


def refuse_many_levels(name: str, levels: Sequence[str]) -> None:
    """More categories than can be compared."""
    if len(levels) > MOST_CATEGORIES:
        raise InvalidInput(
            f"Column {name!r} has more than {MOST_CATEGORIES} categories; merge categories, or store numbers as "
            "numbers."
        )


def read_matrix(columns: Sequence[BatchColumn], batch: Mapping[str, Any]) -> Array:
    """All columns side by side, (row, column of numbers)."""
    return np.hstack([column.read(batch[column.name]) for column in columns])

"""Which columns of A are discrete, and which cell of them a row belongs to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlevel.arrays import Array, Flags, Index

MOST_CATEGORIES = 12
ROWS_PER_CELL = 5
_MOST_VALUES = 500  # of all columns of whole numbers that are read as groups, unless there is one such column


def few_categories(sensitive: Array) -> Flags:
    """Which columns take at most 12 distinct values, and fewer than rows: surely discrete."""
    return np.array([_few(column) for column in sensitive.T], dtype=bool)


def discrete_columns(sensitive: Array) -> Flags:
    """Which columns can be read as groups: few categories, or evenly spaced values that repeat five times on average.
    Of several columns of the second kind those with the fewest values, up to 500 values in all.
    """
    discrete, values = few_categories(sensitive), 0
    repeating = {k: len(np.unique(sensitive[:, k])) for k in np.flatnonzero(~discrete) if _repeats(sensitive[:, k])}
    for k in sorted(repeating, key=repeating.__getitem__):
        values += repeating[k]
        discrete[k] = values == repeating[k] or values <= _MOST_VALUES
    return discrete


def _few(column: Array) -> bool:
    most = min(MOST_CATEGORIES, len(column) - 1)
    first = column[:1000]  # most continuous columns are known by their first rows
    return len(np.unique(first)) <= most and (len(first) == len(column) or len(np.unique(column)) <= most)


def _repeats(column: Array) -> bool:
    most = len(column) // ROWS_PER_CELL
    if len(np.unique(column[: most + 1])) > most:
        return False
    categories = np.unique(column)
    if not 2 <= len(categories) <= most:
        return False
    steps = np.diff(categories) / np.diff(categories).min()  # whole numbers stay evenly spaced when standardised
    return bool(np.allclose(steps, np.round(steps), atol=1e-6))


@dataclass(frozen=True)
class Cells:
    """The cells that columns form on some rows, numbered in lexicographic order.

    Shapes: categories, one sorted array per column; codes, one sorted array per column: the known values of
    (number of the cell of the columns before) · (categories of this column) + (category).
    """

    categories: tuple[Array, ...]
    codes: tuple[Index, ...]

    @classmethod
    def of(cls, rows: Array) -> Cells:
        categories, codes = [], []
        number = np.zeros(len(rows), dtype=np.int64)
        for column in rows.T:
            known, category = np.unique(column, return_inverse=True)
            distinct, number = np.unique(number * len(known) + category, return_inverse=True)
            categories.append(known)
            codes.append(distinct)
        return cls(tuple(categories), tuple(codes))

    @property
    def count(self) -> int:
        """Number of cells; none where there are no columns."""
        return len(self.codes[-1]) if self.codes else 0

    def columns(self, rows: Array) -> list[Index]:
        """The category of each row in each column, −1 for one never seen; (row, column) -> (row,) each."""
        # categories are rounded as the rows were
        return [
            _position(known.astype(rows.dtype), column) for known, column in zip(self.categories, rows.T, strict=True)
        ]

    def number(self, columns: list[Index]) -> Index:
        """The cell of each row, −1 for one never seen; categories (row,) each -> (row,)."""
        number = np.zeros_like(columns[0])
        for known, codes, category in zip(self.categories, self.codes, columns, strict=True):
            position = _position(codes, number * len(known) + category)
            number = np.where((number >= 0) & (category >= 0), position, -1)
        return number


def indicators(number: Index, count: int) -> Array:
    """One column per category or cell, (row, count); a row of none (−1) has zeros, so its mean is the intercept."""
    values = np.zeros((len(number), count))
    seen = np.flatnonzero(number >= 0)
    values[seen, number[seen]] = 1.0
    return values


def _position(known: Array | Index, values: Array | Index) -> Index:
    """Where each value stands among sorted known ones, −1 where it does not."""
    position = np.searchsorted(known, values, side="right") - 1
    return np.where((position >= 0) & (known[np.maximum(position, 0)] == values), position, -1)

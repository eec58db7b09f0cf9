"""Which columns of A are discrete, and which cell of them a row belongs to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlevel.arrays import Array, Flags, Index

MOST_CATEGORIES = 12  # of a column that is surely discrete
ROWS_PER_CELL = 5  # on average, so that values repeat
_MOST_VALUES = 500  # of all columns of repeating values that are read as groups, unless there is one such column


def few_categories(sensitive: Array) -> Flags:
    """Which columns take at most 12 distinct values, and fewer than rows: surely discrete. (row, column) ->
    (column,).
    """
    return np.array([_has_few_categories(column) for column in sensitive.T], dtype=bool)


def discrete_columns(sensitive: Array) -> Flags:
    """Which columns can be read as groups, (row, column) -> (column,): those with few categories, and those of evenly
    spaced values that repeat five times on average. Of several columns of the second kind those with the fewest values
    are taken, as long as they have at most 500 values in all; the first one always.
    """
    discrete = few_categories(sensitive)
    repeating = {k: len(np.unique(sensitive[:, k])) for k in np.flatnonzero(~discrete) if _repeats(sensitive[:, k])}
    values = 0
    for k in sorted(repeating, key=repeating.__getitem__):
        is_first = values == 0
        values += repeating[k]
        discrete[k] = is_first or values <= _MOST_VALUES
    return discrete


def _has_few_categories(column: Array) -> bool:
    most = min(MOST_CATEGORIES, len(column) - 1)
    first = column[:1000]  # most continuous columns are known by their first rows
    return len(np.unique(first)) <= most and (len(first) == len(column) or len(np.unique(column)) <= most)


def _repeats(column: Array) -> bool:
    """Whether the values are evenly spaced, some perhaps missing, and repeat five times on average."""
    most = len(column) // ROWS_PER_CELL
    if len(np.unique(column[: most + 1])) > most:  # most continuous columns end here
        return False
    categories = np.unique(column)
    if not 2 <= len(categories) <= most:
        return False
    steps = np.diff(categories) / np.diff(categories).min()  # whole numbers stay evenly spaced when standardised
    return bool(np.allclose(steps, np.round(steps), atol=1e-6))


@dataclass(frozen=True)
class Cells:
    """The cells that columns form on some rows: the profiles that occur, numbered in lexicographic order.

    Columns are added one after another. A row that is in cell c of the columns before, and has category k of K in this
    column, has the code c K + k. The codes that occur, sorted, are the cells of the columns so far.

    Shapes: categories, the sorted values of each column; codes, the sorted codes after each column.
    """

    categories: tuple[Array, ...]
    codes: tuple[Index, ...]

    @classmethod
    def of(cls, rows: Array) -> Cells:
        """From rows of discrete columns, (row, column)."""
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
        """The number of cells; 0 where there are no columns."""
        return len(self.codes[-1]) if self.codes else 0

    def categories_of(self, rows: Array) -> list[Index]:
        """The category of each row in each column, −1 for one never seen: (row, column) -> one (row,) per column."""
        return [_position(known, column) for known, column in zip(self.categories, rows.T, strict=True)]

    def number(self, categories: list[Index]) -> Index:
        """The cell of each row, −1 for one never seen, from its categories: one (row,) per column -> (row,)."""
        number = np.zeros_like(categories[0])
        for known, codes, category in zip(self.categories, self.codes, categories, strict=True):
            position = _position(codes, number * len(known) + category)
            number = np.where((number >= 0) & (category >= 0), position, -1)
        return number


def _position(known: Array | Index, values: Array | Index) -> Index:
    """The position of each value among sorted known ones, −1 where it is none of them."""
    position = np.searchsorted(known, values, side="right") - 1
    return np.where((position >= 0) & (known[np.maximum(position, 0)] == values), position, -1)

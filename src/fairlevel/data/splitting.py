"""Random splits of rows, by seed."""

from __future__ import annotations

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.exceptions import InvalidInput

MOST_RARE_ROWS = 100  # per column


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


def sample_rows(rows: int, most: int, seed: int) -> Index:
    """At most ``most`` row numbers, drawn by seed, ascending."""
    if rows <= most:
        return np.arange(rows)
    return np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))


def rare_rows(columns: Array, drawn: Index) -> Index:
    """Rows that a sample misses: for each column that is constant on the drawn rows but not on all, the first rows with
    another value, at most 100. What is fitted on the sample alone would leave such a column out. Shapes: columns (row,
    column), drawn (drawn row,) -> row numbers, ascending.
    """
    missed = [np.empty(0, dtype=np.int64)]
    for column in columns.T:
        usual = column[drawn[0]]
        if (column[drawn] == usual).all():
            missed.append(np.flatnonzero(column != usual)[:MOST_RARE_ROWS])
    return np.setdiff1d(np.concatenate(missed), drawn)

"""Random splits of rows, by seed."""

from __future__ import annotations

import numpy as np

from fairlevel.arrays import Index
from fairlevel.exceptions import InvalidInput


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

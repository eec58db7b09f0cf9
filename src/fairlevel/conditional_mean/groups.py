"""Group averages for discrete attributes, and group-wise smooth curves where A is mixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairlevel.arrays import Array
from fairlevel.conditional_mean.protocol import FeatureMap, LinearMean
from fairlevel.conditional_mean.random_features import RandomFeaturesMean

MOST_LEVELS = 12
_ROWS_PER_CELL = 5

Columns = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True)
class GroupMean(LinearMean):
    r"""Averages within the cells that the discrete columns of A form; exact when all of A is discrete.

    .. math:: (S f)_i = \frac{1}{n_{g(i)}} \sum_{j : g(j) = g(i)} f_j

    A column with few distinct values, or of whole numbers that repeat, is discrete. Continuous columns add a free slope
    each, and penalised: random Fourier features and slopes that differ by cell (of five rows or more). Where the rows
    cannot bear a free average per cell (five rows a cell, four a free direction), columns act additively and cells are
    penalised; where they cannot bear that either, everything is penalised.
    """

    name: ClassVar[str] = "groups"

    def feature_map(self, sensitive: Array, row_weight: Array, seed: int) -> FeatureMap:
        discrete = discrete_columns(sensitive)
        cells = np.unique(sensitive[:, discrete], axis=0)
        levels = [np.unique(column)[:, None] for column in sensitive[:, discrete].T]
        smooth = RandomFeaturesMean().feature_map(sensitive[:, ~discrete], row_weight, seed)
        rows, slopes = len(sensitive), int((~discrete).sum())
        well_filled = _indicators(sensitive[:, discrete], cells).sum(axis=0) >= _ROWS_PER_CELL
        cells_are_free = len(cells) * _ROWS_PER_CELL <= rows and 4 * (len(cells) + slopes) <= rows
        columns_are_free = 4 * (sum(map(len, levels)) + slopes) <= rows

        def features(rows: Array) -> tuple[Array, Array]:
            cell = _indicators(rows[:, discrete], cells)
            each = [
                _indicators(column[:, None], known) for column, known in zip(rows[:, discrete].T, levels, strict=True)
            ]
            continuous = rows[:, ~discrete]
            bent = _bent(continuous, cell[:, well_filled], smooth)
            if cells_are_free:
                return np.hstack([cell, continuous]), bent
            additive = np.hstack([*each, continuous])
            if columns_are_free:
                return additive, np.hstack([cell, bent])
            return additive[:, :0], np.hstack([additive, cell, bent])

        return features


def few_levels(sensitive: Array) -> Columns:
    """Which columns take at most 12 distinct values, and fewer than rows: surely discrete."""
    return np.array([len(np.unique(column)) <= min(MOST_LEVELS, len(column) - 1) for column in sensitive.T], dtype=bool)


def discrete_columns(sensitive: Array) -> Columns:
    """Which columns can be read as groups: few levels, or evenly spaced values that repeat five times on average."""
    repeated: Columns = np.array([_repeats(column) for column in sensitive.T], dtype=bool)
    return np.logical_or(few_levels(sensitive), repeated)


def _repeats(column: Array) -> bool:
    levels = np.unique(column)
    if len(levels) < 2 or len(levels) * _ROWS_PER_CELL > len(column):
        return False
    steps = np.diff(levels) / np.diff(levels).min()  # whole numbers stay evenly spaced when standardised
    return bool(np.allclose(steps, np.round(steps), atol=1e-6))


def _bent(continuous: Array, cell: Array, smooth: FeatureMap) -> Array:
    """Waves of the continuous columns and their slopes by cell; nothing where there are none."""
    if not continuous.shape[1]:
        return continuous
    return np.hstack([smooth(continuous)[1], *(cell * column[:, None] for column in continuous.T)])


def _indicators(rows: Array, known: Array) -> Array:
    """One column per known cell; a row of a cell never seen belongs to none (its level is the intercept's)."""
    if not known.shape[1]:
        return np.empty((len(rows), 0))
    known = known.astype(rows.dtype)  # rounded as the rows were
    _, number = np.unique(np.vstack([known, rows]), axis=0, return_inverse=True)
    column = np.full(number.max() + 1, -1)
    column[number[: len(known)]] = np.arange(len(known))
    belongs = column[number[len(known) :]]
    indicators = np.zeros((len(rows), len(known)))
    seen = belongs >= 0
    indicators[np.flatnonzero(seen), belongs[seen]] = 1.0
    return indicators

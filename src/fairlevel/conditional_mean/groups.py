"""Group averages for discrete attributes, and group-wise smooth curves where A is mixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairlevel.conditional_mean.protocol import Array, FeatureMap, LinearMean
from fairlevel.conditional_mean.random_features import RandomFeaturesMean

MOST_LEVELS = 12
_ROWS_PER_CELL = 5


@dataclass(frozen=True)
class GroupMean(LinearMean):
    r"""Averages within the cells that the discrete columns of A form; exact when all of A is discrete.

    .. math:: (S f)_i = \frac{1}{n_{g(i)}} \sum_{j : g(j) = g(i)} f_j

    A column with at most 12 distinct values is discrete. Continuous columns add a free slope each, and penalised:
    random Fourier features and slopes that differ by cell. Where cells hold fewer than five rows on average, columns
    act additively and cells are penalised instead.
    """

    name: ClassVar[str] = "groups"

    def feature_map(self, sensitive: Array, row_weight: Array, seed: int) -> FeatureMap:
        discrete = discrete_columns(sensitive)
        cells = np.unique(sensitive[:, discrete], axis=0)
        affordable = len(cells) * _ROWS_PER_CELL <= len(sensitive)
        levels = [np.unique(column) for column in sensitive[:, discrete].T]
        smooth = RandomFeaturesMean().feature_map(sensitive[:, ~discrete], row_weight, seed)

        def features(rows: Array) -> tuple[Array, Array]:
            cell = _indicators(rows[:, discrete], cells)
            columns = rows[:, discrete].T
            additive = [
                _indicators(column[:, None], known[:, None]) for column, known in zip(columns, levels, strict=True)
            ]
            continuous = rows[:, ~discrete]
            if not continuous.shape[1]:
                bent = continuous
            else:
                slopes, waves = smooth(continuous)
                by_cell = [cell * column[:, None] for column in continuous.T]
                bent = np.hstack([slopes[:, :0], waves, *by_cell])
            if affordable:
                return np.hstack([cell, continuous]), bent
            return np.hstack([*additive, continuous]), np.hstack([cell, bent])

        return features


def discrete_columns(sensitive: Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which columns take at most 12 distinct values, and fewer than rows."""
    return np.array([len(np.unique(column)) <= min(MOST_LEVELS, len(column) - 1) for column in sensitive.T], dtype=bool)


def _indicators(rows: Array, known: Array) -> Array:
    """One column per known cell; a row of a cell never seen belongs to none (its level is the intercept's)."""
    if not known.shape[1]:
        return np.empty((len(rows), 0))
    belongs: Array = np.asarray((np.abs(rows[:, None, :] - known[None, :, :]) < 1e-9).all(axis=2), dtype=np.float64)
    return belongs

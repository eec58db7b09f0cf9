"""Group averages for discrete attributes, and group-wise smooth curves where A is mixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairlevel.arrays import Array, Flags
from fairlevel.conditional_mean.cells import ROWS_PER_CELL, Cells, discrete_columns, indicators
from fairlevel.conditional_mean.protocol import FeatureMap, LinearMean
from fairlevel.conditional_mean.random_features import RandomFeaturesMean


@dataclass(frozen=True)
class GroupMean(LinearMean):
    r"""Averages within the cells that the discrete columns of A form; exact when all of A is discrete.

    .. math:: (S f)_i = \frac{1}{n_{g(i)}} \sum_{j : g(j) = g(i)} f_j

    A column with few distinct values, or of whole numbers that repeat, is discrete. Continuous columns add a free slope
    each, and penalised: random Fourier features and slopes that differ by cell (of five rows or more). Where the rows
    are too few for a free average per cell (five rows per cell, four per free function), columns act additively and
    cells are penalised; where they are too few for that, everything is penalised.
    """

    name: ClassVar[str] = "groups"

    def feature_map(self, sensitive: Array, row_weight: Array, seed: int) -> FeatureMap:
        discrete = discrete_columns(sensitive)
        cells = Cells.of(sensitive[:, discrete])
        smooth = RandomFeaturesMean().feature_map(sensitive[:, ~discrete], row_weight, seed)
        rows, slopes = len(sensitive), int((~discrete).sum())
        well_filled = np.zeros(cells.count, dtype=bool)
        if cells.count:
            number = cells.number(cells.columns(sensitive[:, discrete]))
            well_filled = np.bincount(number, minlength=cells.count) >= ROWS_PER_CELL
        cells_are_free = cells.count * ROWS_PER_CELL <= rows and 4 * (cells.count + slopes) <= rows
        columns_are_free = 4 * (sum(map(len, cells.categories)) + slopes) <= rows

        return GroupFeatures(discrete, cells, smooth, well_filled, cells_are_free, columns_are_free)


@dataclass(frozen=True)
class GroupFeatures:
    """Averages of cells, and what is smooth within them; discrete (column,), well_filled (cell,)."""

    discrete: Flags
    cells: Cells
    smooth: FeatureMap
    well_filled: Flags
    cells_are_free: bool
    columns_are_free: bool

    def __call__(self, rows: Array) -> tuple[Array, Array]:
        cells = self.cells
        columns = cells.columns(rows[:, self.discrete])
        cell = indicators(cells.number(columns), cells.count) if columns else np.empty((len(rows), 0))
        continuous = rows[:, ~self.discrete]
        curved = _curved(continuous, cell[:, self.well_filled], self.smooth)
        if self.cells_are_free:
            return np.hstack([cell, continuous]), curved
        each = [indicators(column, len(known)) for column, known in zip(columns, cells.categories, strict=True)]
        additive = np.hstack([*each, continuous])
        if self.columns_are_free:
            return additive, np.hstack([cell, curved])
        return additive[:, :0], np.hstack([additive, cell, curved])


def _curved(continuous: Array, cell: Array, smooth: FeatureMap) -> Array:
    """Random features of the continuous columns and their slopes by cell; nothing where there are none."""
    if not continuous.shape[1]:
        return continuous
    return np.hstack([smooth(continuous)[1], *(cell * column[:, None] for column in continuous.T)])

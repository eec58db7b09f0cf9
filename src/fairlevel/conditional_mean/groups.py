"""Group averages for discrete attributes, and group-wise smooth curves where A is mixed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fairlevel.arrays import Array, Flags, Index
from fairlevel.conditional_mean.discrete_columns import ROWS_PER_CELL, Cells, discrete_columns
from fairlevel.conditional_mean.protocol import FeatureMap, LinearMean, indicators
from fairlevel.conditional_mean.random_features import RandomFeaturesMean
from fairlevel.exceptions import InvalidInput

_MOST_WRITTEN = 300  # indicators of cells, or of categories, that stand as columns


@dataclass(frozen=True)
class GroupMean(LinearMean):
    r"""Averages within the cells that the discrete columns of A form; exact when all of A is discrete.

    .. math:: (S f)_i = \frac{1}{n_{g(i)}} \sum_{j : g(j) = g(i)} f_j

    A column with few distinct values, or of whole numbers that repeat, is discrete. Continuous columns add a free slope
    each, and penalised: random Fourier features and slopes that differ by cell (of five rows or more). Where the rows
    are too few for a free average per cell (five rows per cell, four per free function), columns act additively and
    cells are penalised, those of ``least_rows`` rows or more; where they are too few for that, everything is penalised.
    Of very many penalised cells the 300 fullest are used.
    """

    least_rows: int = 3
    counted: bool = True
    """Whether cells may be many, because they need not be written out."""

    name: ClassVar[str] = "groups"
    joined_by_learnt: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.least_rows < 1:
            raise InvalidInput(f"least_rows={self.least_rows} was given; at least 1 is needed, such as 3.")

    def beside_factors(self) -> GroupMean:
        return replace(self, counted=False)

    def feature_map(self, sensitive: Array, row_weight: Array, seed: int) -> GroupFeatures:
        discrete = discrete_columns(sensitive)
        cells = Cells.of(sensitive[:, discrete])
        smooth = RandomFeaturesMean().feature_map(sensitive[:, ~discrete], row_weight, seed)
        rows, slopes = len(sensitive), int((~discrete).sum())
        filled = np.zeros(0, dtype=np.int64)
        if cells.count:
            number = cells.number(cells.categories_of(sensitive[:, discrete]))
            filled = np.bincount(number, minlength=cells.count)
        categories = sum(map(len, cells.categories))
        few = self.counted or cells.count <= _MOST_WRITTEN
        are_free = few and cells.count * ROWS_PER_CELL <= rows and 4 * (cells.count + slopes) <= rows
        columns_are_free = 4 * (categories + slopes) <= rows and categories <= _MOST_WRITTEN
        return GroupFeatures(
            discrete,
            cells,
            smooth,
            _fullest(filled, ROWS_PER_CELL),
            _fullest(filled, self.least_rows),
            cells.count if are_free else 0,
            columns_are_free,
        )


def _fullest(filled: Index, least: int) -> Flags:
    """The cells of at least so many rows, (cell,), the fullest of them where they are very many."""
    sizes = np.sort(filled)[::-1]
    limit = int(sizes[_MOST_WRITTEN]) + 1 if len(sizes) > _MOST_WRITTEN else 0
    return filled >= max(limit, least)


@dataclass(frozen=True)
class GroupFeatures:
    """Averages of cells, and what is smooth within them. Shapes: discrete (column,); well_filled, cells with slopes of
    their own, and kept, those with penalised averages, (cell,). ``levels`` counts the cells where they are free.
    """

    discrete: Flags
    cells: Cells
    smooth: FeatureMap
    well_filled: Flags
    kept: Flags
    levels: int
    columns_are_free: bool

    def level(self, rows: Array) -> Index:
        """The cell of each row, −1 for one never seen."""
        columns = self.cells.categories_of(rows[:, self.discrete])
        return self.cells.number(columns) if columns else np.full(len(rows), -1)

    def __call__(self, rows: Array) -> tuple[Array, Array]:
        """The features beside the averages of free cells."""
        continuous, number = rows[:, ~self.discrete], self.level(rows)
        curved = self._curved(continuous, number)
        if self.levels:
            return continuous, curved
        columns = self.cells.categories_of(rows[:, self.discrete])
        known = zip(columns, self.cells.categories, strict=True)
        each = [indicators(column, len(categories)) for column, categories in known if len(categories) <= _MOST_WRITTEN]
        additive = np.hstack([*each, continuous])
        cell = indicators(_renumbered(number, self.kept), int(self.kept.sum()))
        if self.columns_are_free:
            return additive, np.hstack([cell, curved])
        return additive[:, :0], np.hstack([additive, cell, curved])

    def _curved(self, continuous: Array, number: Index) -> Array:
        """Random features of the continuous columns and their slopes by cell; nothing where there are none."""
        if not continuous.shape[1]:
            return continuous
        cell = indicators(_renumbered(number, self.well_filled), int(self.well_filled.sum()))
        return np.hstack([self.smooth(continuous)[1], *(cell * column[:, None] for column in continuous.T)])


def _renumbered(number: Index, some: Flags) -> Index:
    """The number of each row's cell among some of the cells, −1 for the others and for rows of no cell."""
    place = np.where(some, np.cumsum(some) - 1, -1)
    renumbered: Index = np.append(place, -1)[number]
    return renumbered

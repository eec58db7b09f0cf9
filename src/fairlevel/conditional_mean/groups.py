"""Group averages for discrete attributes, and group-wise smooth curves where A is mixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from fairlevel.arrays import Array, Flags, Index
from fairlevel.conditional_mean.cells.discrete_columns import ROWS_PER_CELL, Cells, discrete_columns, indicators
from fairlevel.conditional_mean.cells.membership import FeaturesAndCells, Membership
from fairlevel.conditional_mean.protocol import FeatureMap, LinearMean
from fairlevel.conditional_mean.random_features import RandomFeaturesMean
from fairlevel.exceptions import InvalidInput

_MOST_FUNCTIONS = 600  # of penalised cells


@dataclass(frozen=True)
class GroupMean(LinearMean):
    r"""Averages within the cells that the discrete columns of A form; exact when all of A is discrete.

    .. math:: (S f)_i = \frac{1}{n_{g(i)}} \sum_{j : g(j) = g(i)} f_j

    A column with few distinct values, or of whole numbers that repeat, is discrete. Continuous columns add a free slope
    each, and penalised: random Fourier features and slopes that differ by cell (of five rows or more). Where the rows
    are too few for a free average per cell (five rows per cell, four per free function), columns act additively and
    cells are penalised, those of ``least_rows`` rows or more; where they are too few for that, everything is penalised.
    The average of one or two rows says next to nothing about another one, and a ridge that is large enough to shrink
    such cells to zero does so to all cells. Where cells would add very many functions, the emptiest are left out.
    """

    least_rows: int = 3

    name: ClassVar[str] = "groups"
    averages: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.least_rows < 1:
            raise InvalidInput(f"least_rows={self.least_rows} was given; at least 1 is needed, such as 3.")

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
        cells_are_free = cells.count * ROWS_PER_CELL <= rows and 4 * (cells.count + slopes) <= rows
        columns_are_free = 4 * (categories + slopes) <= rows
        kept = filled >= (1 if cells_are_free else self._least_filled(filled, categories))
        return GroupFeatures(discrete, cells, smooth, filled >= ROWS_PER_CELL, kept, cells_are_free, columns_are_free)

    def _least_filled(self, filled: Index, categories: int) -> int:
        """From how many rows on cells are penalised, by the rows of all cells, (cell,). Cells of equal size need as
        many functions of their own as there are categories, or cells; the fullest come first.
        """
        sizes, cells = np.unique(filled[filled >= self.least_rows], return_counts=True)
        functions = np.cumsum(np.minimum(cells, categories)[::-1])[::-1]
        affordable = sizes[functions <= _MOST_FUNCTIONS]
        return int(affordable[0]) if len(affordable) else int(filled.sum()) + 1


@dataclass(frozen=True)
class GroupFeatures:
    """Averages of cells, and what is smooth within them. Shapes: discrete (column,); well_filled, cells with slopes of
    their own, and kept, those with averages, (cell,).
    """

    discrete: Flags
    cells: Cells
    smooth: FeatureMap
    well_filled: Flags
    kept: Flags
    cells_are_free: bool
    columns_are_free: bool

    def __call__(self, rows: Array) -> tuple[Array, Array]:
        free, additive, number, curved = self._parts(rows)
        cell = indicators(_renumbered(number, self.kept), int(self.kept.sum()))
        if self.cells_are_free:
            return np.hstack([cell, free]), np.hstack([additive, curved])
        return free, np.hstack([additive, cell, curved])

    def features_and_cells(self, rows: Array) -> FeaturesAndCells:
        """The same without the indicators of cells, and the cells."""
        free, additive, number, curved = self._parts(rows)
        own = torch.from_numpy(_renumbered(number, self.kept))
        known, none = Membership(own, int(self.kept.sum())), Membership.none(len(rows))
        free_cells, penalised_cells = (known, none) if self.cells_are_free else (none, known)
        return FeaturesAndCells(free, np.hstack([additive, curved]), free_cells, penalised_cells)

    def _parts(self, rows: Array) -> tuple[Array, Array, Index, Array]:
        """Free features and penalised ones of single columns, without cells; the cells; and what is curved."""
        columns, continuous = self.cells.categories_of(rows[:, self.discrete]), rows[:, ~self.discrete]
        number = self.cells.number(columns) if columns else np.full(len(rows), -1)
        curved = self._curved(continuous, number)
        if self.cells_are_free:
            return continuous, continuous[:, :0], number, curved
        each = [indicators(column, len(known)) for column, known in zip(columns, self.cells.categories, strict=True)]
        additive = np.hstack([*each, continuous])
        if self.columns_are_free:
            return additive, additive[:, :0], number, curved
        return additive[:, :0], additive, number, curved

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

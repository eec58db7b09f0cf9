"""Which columns of A are discrete, and averages within the cells that these form, with smooth curves beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd

from fairlevel.arrays import Array, Flags, Index
from fairlevel.conditional_mean.protocol import FeatureMap, LinearMean, indicators
from fairlevel.conditional_mean.random_features import RandomFeaturesMean
from fairlevel.conditional_mean.smoother import Features
from fairlevel.exceptions import InvalidInput

MOST_CATEGORIES = 12  # of a column that is surely discrete
ROWS_PER_CELL = 5  # on average, so that values repeat
_MOST_WRITTEN = 300  # indicators of cells, or of categories, that stand as columns
_MOST_VALUES = 500  # of all columns of repeating values that are read as groups, unless there is one such column


def few_categories(sensitive: Array) -> Flags:
    """Which columns are surely discrete: at most 12 values, and fewer than rows; (row, column) -> (column,)."""
    most = min(MOST_CATEGORIES, len(sensitive) - 1)
    return np.array([_values_up_to(most, column) is not None for column in sensitive.T], dtype=bool)


def discrete_columns(sensitive: Array) -> Flags:
    """Which columns can be read as groups, (row, column) -> (column,): those with few categories, and those of evenly
    spaced values that repeat five times on average. Of several columns of the second kind those with the fewest values
    are taken, as long as they have at most 500 values in all; the first one always.
    """
    discrete = few_categories(sensitive)
    counts = {k: _count_of_repeating(sensitive[:, k]) for k in np.flatnonzero(~discrete)}
    values = 0
    for k in sorted((k for k in counts if counts[k]), key=counts.__getitem__):
        is_first = values == 0
        values += counts[k]
        discrete[k] = is_first or values <= _MOST_VALUES
    return discrete


def _values_up_to(most: int, column: Array) -> Array | None:
    """The distinct values, unless they are more; most continuous columns are known by their first rows."""
    if len(np.unique(column[: 1000 + most])) > most:
        return None
    values = np.unique(column)
    return values if len(values) <= most else None


def _count_of_repeating(column: Array) -> int:
    """How many values repeat five times on average, if these are evenly spaced, some perhaps missing; else 0."""
    values = _values_up_to(len(column) // ROWS_PER_CELL, column)
    if values is None or len(values) < 2:
        return 0
    steps = np.diff(values) / np.diff(values).min()  # whole numbers stay evenly spaced when standardised
    return len(values) if np.allclose(steps, np.round(steps), atol=1e-6) else 0


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
        columns, slopes = sensitive[:, discrete], int((~discrete).sum())
        profiles, filled = np.unique(columns, axis=0, return_counts=True)  # in lexicographic order
        cells = pd.MultiIndex.from_arrays(list(profiles.T)) if discrete.any() else None
        filled = filled if discrete.any() else filled[:0]
        smooth = RandomFeaturesMean().feature_map(sensitive[:, ~discrete], row_weight, seed)
        categories = tuple(np.unique(column) for column in columns.T)
        rows, count, written = len(sensitive), len(filled), sum(map(len, categories))
        few = self.counted or count <= _MOST_WRITTEN
        are_free = few and count * ROWS_PER_CELL <= rows and 4 * (count + slopes) <= rows
        return GroupFeatures(
            discrete,
            categories,
            cells,
            smooth,
            with_slopes=_fullest(filled, ROWS_PER_CELL),
            penalised=_fullest(filled, self.least_rows),
            levels=count if are_free else 0,
            columns_are_free=4 * (written + slopes) <= rows and written <= _MOST_WRITTEN,
        )


def _fullest(filled: Index, least: int) -> Flags:
    """The cells of at least so many rows, (cell,), the fullest of them where they are very many."""
    sizes = np.sort(filled)[::-1]
    limit = int(sizes[_MOST_WRITTEN]) + 1 if len(sizes) > _MOST_WRITTEN else 0
    return filled >= max(limit, least)


@dataclass(frozen=True)
class GroupFeatures:
    """Averages of cells, and what is smooth within them. ``cells`` are the profiles of discrete columns that occur, in
    order; None where no column is discrete. Shapes: discrete (column,); categories, the sorted values of each discrete
    column; with_slopes, cells that have their own, and penalised, those whose averages are, (cell,). ``levels`` counts
    the cells where they are free.
    """

    discrete: Flags
    categories: tuple[Array, ...]
    cells: pd.MultiIndex | None
    smooth: FeatureMap
    with_slopes: Flags
    penalised: Flags
    levels: int
    columns_are_free: bool

    def __call__(self, rows: Array) -> Features:
        continuous, columns = rows[:, ~self.discrete], rows[:, self.discrete].T
        cell: Index = np.full(len(rows), -1)  # of each row, −1 for one never seen
        if self.cells is not None:
            cell = self.cells.get_indexer(pd.MultiIndex.from_arrays(list(columns)))
        curved = continuous  # nothing where there are no continuous columns
        if continuous.shape[1]:  # random features, and slopes by cell
            own = _indicators_of(self.with_slopes, cell)
            curved = np.hstack([self.smooth(continuous).penalised, *(own * column[:, None] for column in continuous.T)])
        if self.levels:
            return Features(continuous, curved, cell, self.levels)
        averages = [
            indicators(pd.Index(known).get_indexer(column), len(known))
            for known, column in zip(self.categories, columns, strict=True)
            if len(known) <= _MOST_WRITTEN
        ]
        additive = np.hstack([*averages, continuous])
        penalised = np.hstack([_indicators_of(self.penalised, cell), curved])
        if self.columns_are_free:
            return Features(additive, penalised)
        return Features(additive[:, :0], np.hstack([additive, penalised]))


def _indicators_of(some: Flags, number: Index) -> Array:
    """One column for each of some cells, (cell,), from the cell of each row, −1 for none: (row,) -> (row, some)."""
    position = np.append(np.where(some, np.cumsum(some) - 1, -1), -1)
    return indicators(position[number], int(some.sum()))

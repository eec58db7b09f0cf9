r"""Functions of legitimate factors L: differences that they explain do not count as disparity.

Disparity within L is :math:`\psi_c = E[(E[f \mid A, L] - E[f \mid L])^2]`. E[f | L] is described by functions that are
not penalised, so that nothing of it is left over, and E[f | A, L] by functions of A and L together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np

from fairlevel.arrays import Array, Flags, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.groups import GroupMean, few_categories
from fairlevel.conditional_mean.protocol import FeatureMap, indicators, standardiser
from fairlevel.conditional_mean.random_features import RandomFeaturesMean
from fairlevel.conditional_mean.smoother import Features, orthonormal
from fairlevel.conditional_mean.splines import SplineMean

ROWS_PER_FUNCTION = 20
MOST_FUNCTIONS = 200
_MOST_KNOTS = 20
_LEAST_MOMENT = 1e-4  # relative to the first optional function; smaller ones vary too fast to be estimated
_MOST_MULTIPLIED = 20  # the first columns of L, whose products are used


@dataclass(frozen=True)
class LegitimateFactors:
    """Functions G of L, fitted on some rows: an average for each cell of the categorical columns, a curve for each
    continuous one, then products and random features of all columns. There is at most one function per 20 rows, and
    200 in all, except that each category and each curve always has its own.

    >>> import numpy as np
    >>> L = np.linspace(0, 1, 400)[:, None]
    >>> functions = LegitimateFactors.of(L)
    >>> functions(L).shape
    (400, 17)
    >>> attributes = functions.attributes(A := L**2, L)  # for any penalty and any conditional mean
    """

    standardise: Callable[[Array], Array]
    features: FeatureMap
    centre: Array
    transform: Array

    @classmethod
    def of(
        cls, factors: Array, row_weight: Array | None = None, seed: int = 0, groups: Index | None = None
    ) -> LegitimateFactors:
        """Fitted on these rows; (row, factor), (row,). With groups there is one function per 20 groups."""
        weight = Attributes(factors, row_weight=row_weight).weight
        standardise = standardiser(factors, weight)
        standard = standardise(factors)
        units = len(factors) if groups is None else len(np.unique(groups))
        most = int(np.clip(units // ROWS_PER_FUNCTION, 1, MOST_FUNCTIONS))
        categorical = few_categories(standard)
        cells = GroupMean(counted=False).feature_map(standard[:, categorical], weight, seed)
        knots = int(np.clip(most // (2 * max((~categorical).sum(), 1)), 3, _MOST_KNOTS))
        curves = SplineMean(knots=knots).feature_map(standard[:, ~categorical], weight, seed)
        together = RandomFeaturesMean().feature_map(standard, weight, seed)
        features = partial(_features, categorical, replace(cells, columns_are_free=True), curves, together)
        values = features(standard).together
        centre = weight @ values
        centred = values - centre
        free = features(standard).free.shape[1]
        transform, moments, _ = orthonormal(centred.T @ (weight[:, None] * centred), free)
        always = transform.shape[1] - len(moments)
        smooth = int((moments > _LEAST_MOMENT * moments[:1]).sum())  # moments fall
        return cls(standardise, features, centre, transform[:, : max(always, min(most, always + smooth))])

    def __call__(self, factors: Array) -> Array:
        """G at any rows, (row, factor) -> (row, function)."""
        functions: Array = (self.features(self.standardise(factors)).together - self.centre) @ self.transform
        return functions

    def attributes(
        self, values: Array, factors: Array, row_weight: Array | None = None, groups: Index | None = None
    ) -> Attributes:
        """A within L on any rows: values (row, attribute), factors (row, factor)."""
        return Attributes(values, self(factors), row_weight, factors, groups)


def attributes_within(
    values: Array, factors: Array | None, row_weight: Array | None, groups: Index | None, seed: int = 0
) -> Attributes:
    """A, or A within L, whose functions are fitted on these rows: (row, attribute), (row, factor)."""
    if factors is None:
        return Attributes(values, row_weight=row_weight, groups=groups)
    return LegitimateFactors.of(factors, row_weight, seed, groups).attributes(values, factors, row_weight, groups)


def _features(categorical: Flags, cells: FeatureMap, curves: FeatureMap, together: FeatureMap, rows: Array) -> Features:
    """Cells of categorical columns, (column,), and curves are always used; products and waves are optional."""
    averages, other_averages, cell, count, _ = cells(rows[:, categorical])
    if cell is not None:
        averages = indicators(cell, count)
    if categorical.all():
        return Features(averages, other_averages)
    smooth = curves(rows[:, ~categorical]).together
    pairs = combinations(range(min(rows.shape[1], _MOST_MULTIPLIED)), 2)
    products = [(rows[:, first] * rows[:, second])[:, None] for first, second in pairs]
    waves = together(rows).penalised
    return Features(np.hstack([averages, smooth]), np.hstack([other_averages, *products, waves]))

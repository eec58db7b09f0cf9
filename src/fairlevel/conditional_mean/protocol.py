"""What an estimator of E[f(X) | A = a] must offer.

Linear means differ only in their features of A. Trained means (see ``mlp.py``) follow the gradient of an inner loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
import torch

from fairlevel.arrays import Array, Flags
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.cells.membership import FeaturesAndCells
from fairlevel.conditional_mean.factorisation import Features, factor
from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.data.scaling import vary
from fairlevel.exceptions import InvalidInput, InvalidType

FeatureMap = Callable[[Array], tuple[Array, Array]]
"""A (row, attribute) -> (free features, penalised features), fitted on the rows that fit h. Ours are frozen values of
plain numbers, which files can hold; see :mod:`fairlevel.conditional_mean.stored_functions`.
"""


@runtime_checkable
class CellFeatures(Protocol):
    """A feature map of which some features are indicators of cells, which no two rows of different cells share; they
    are factored at less cost than features of any kind.
    """

    def features_and_cells(self, rows: Array) -> FeaturesAndCells:
        """Features without the indicators of cells, and the cells; (row, attribute)."""


_MOST_FACTORED = 14  # columns of A and of L whose products are used: 14² products at most


def may_round(rows: float, functions: int) -> bool:
    """Whether a number of functions of a number of rows may be computed in 32 bits: from 100 rows per function and
    20,000 rows. The average leverage of a row is then a hundredth or less, and errors of 1e-7 of it are far below what
    the rows can say.
    """
    return rows >= max(20_000, 100 * functions)


@runtime_checkable
class ConditionalMean(Protocol):
    """Any estimator of E[f(X) | A = a]; its kind says how DPVar is estimated with it."""

    name: ClassVar[str]
    kind: ClassVar[str]
    """"linear" (a :class:`LinearMean`) or "trained" (a network such as ``MLPMean``)."""


def kind_of(regressor: object) -> str:
    """The kind of a conditional mean; anything else is refused."""
    if isinstance(regressor, type) or not isinstance(regressor, ConditionalMean):
        raise InvalidType(
            f"regressor={regressor!r} was given; a conditional mean object is needed, such as SplineMean() or "
            "MLPMean()."
        )
    return regressor.kind


@dataclass(frozen=True)
class LinearMean(ABC):
    """A conditional mean that is linear in the predictions: h = S f with S built from A alone.

    ``ridge`` is the penalty λ on the penalised features, in units of their second moments. ``None`` leaves the choice
    to the caller: metrics and estimators choose by cross-validation.
    """

    ridge: float | None = None

    name: ClassVar[str]
    kind: ClassVar[str] = "linear"
    averages: ClassVar[bool] = False
    """Whether h without a ridge is the average of the rows with the same attributes."""

    def __post_init__(self) -> None:
        if self.ridge is not None and not self.ridge >= 0:
            raise InvalidInput(
                f"ridge={self.ridge} was given; a number ≥ 0 is needed, or None to choose it by cross-validation."
            )

    @property
    def label(self) -> str:
        """The name in results."""
        return self.name

    def resolutions(self, sensitive: Array) -> tuple[LinearMean, ...]:
        """This mean with each value that a number left open, other than the ridge, may take on these rows, (row,
        attribute); the one to use where nothing is chosen comes first. Nothing is open here.
        """
        return (self,)

    @abstractmethod
    def feature_map(self, sensitive: Array, row_weight: Array, seed: int) -> FeatureMap:
        """Features of A, fitted on these rows: knots, bandwidths, categories. ``sensitive`` is standardised."""

    def many_rows_map(self, sensitive: Array, row_weight: Array, seed: int) -> FeatureMap:
        """The same functions for very many rows, of which these are a sample; rounded to 32 bits where that makes them
        faster and :func:`may_round` allows it.
        """
        return self.feature_map(sensitive, row_weight, seed)

    def joint_map(self, fit: Attributes, seed: int) -> FeaturesOf | FeaturesWithin:
        """Features of A, or of A and L together, fitted on these rows."""
        return _joint_map(self.feature_map, fit, seed)

    def joint_many_rows_map(self, fit: Attributes, seed: int) -> JointMap:
        """The same for very many rows, of which these are a sample."""
        return _joint_map(self.many_rows_map, fit, seed)

    def prepare(self, fit: Attributes, at: Array | Attributes | None = None, *, seed: int = 0) -> LinearSmoother:
        """Factor the smoother that is fitted on the rows ``fit`` and evaluated at the rows ``at`` (default: the same
        rows). Rows to evaluate at are (row, attribute), or :class:`Attributes` where ``fit`` has functions of L.
        """
        if at is None:  # the ridge is chosen, and training prepared, on the same rows
            return fit.once((replace(self, ridge=None), seed), lambda: self._factored(fit, seed))
        features = self.joint_map(fit, seed)
        weight = torch.from_numpy(fit.weight)
        there = at if isinstance(at, Attributes) else Attributes(at)
        if (fit.given is None) != (there.given is None):
            raise InvalidInput("Functions of legitimate factors are needed for both the fitted rows and the rows at.")
        return factor(_features(features, fit), weight, _features(features, there))

    def _factored(self, rows: Attributes, seed: int) -> LinearSmoother:
        return factor(_features(self.joint_map(rows, seed), rows), torch.from_numpy(rows.weight))


JointMap = Callable[[Attributes], tuple[Array, Array]]
"""Rows -> (free features, penalised features) of A, or of A and L together."""


def _joint_map(
    feature_map: Callable[[Array, Array, int], FeatureMap], fit: Attributes, seed: int
) -> FeaturesOf | FeaturesWithin:
    """Features of A, or of A and L together, fitted on these rows: A alone, or both side by side, are standardised for
    the given ``feature_map``.
    """
    weight = fit.weight
    standardise = standardiser(fit.values, weight)
    attributes = standardise(fit.values)
    if fit.factors is None:
        features = feature_map(attributes, weight, seed)
        return FeaturesOf(standardise, features)
    standardise_factors = standardiser(fit.factors, weight)
    factors = standardise_factors(fit.factors)
    features = feature_map(np.hstack([attributes, factors]), weight, seed)
    leading, leading_factor = _leading(attributes, weight), _leading(factors, weight)
    return FeaturesWithin(standardise, standardise_factors, features, leading, leading_factor)


@dataclass(frozen=True)
class FeaturesOf:
    """Features of A."""

    standardise: Standardiser
    features: FeatureMap

    def __call__(self, rows: Attributes) -> tuple[Array, Array]:
        return self.features(self.standardise(rows.values))

    def features_and_cells(self, rows: Attributes) -> FeaturesAndCells:
        """The same without the indicators of cells, and the cells."""
        return _features_and_cells(self.features, self.standardise(rows.values))


@dataclass(frozen=True)
class FeaturesWithin:
    """Features of A and L together, with products of their columns, or of their leading components (column,
    component).
    """

    standardise: Standardiser
    standardise_factors: Standardiser
    features: FeatureMap
    leading: Array
    leading_factor: Array

    def __call__(self, rows: Attributes) -> tuple[Array, Array]:
        here, within = self._standardised(rows)
        free, penalised = self.features(np.hstack([here, within]))
        return free, np.hstack([penalised, self._products(here, within)])

    def features_and_cells(self, rows: Attributes) -> FeaturesAndCells:
        """The same without the indicators of cells, and the cells."""
        here, within = self._standardised(rows)
        apart = _features_and_cells(self.features, np.hstack([here, within]))
        return apart._replace(penalised=np.hstack([apart.penalised, self._products(here, within)]))

    def _standardised(self, rows: Attributes) -> tuple[Array, Array]:
        if rows.factors is None:
            raise InvalidInput("Legitimate factors are needed for both the fitted rows and the rows at.")
        return self.standardise(rows.values), self.standardise_factors(rows.factors)

    def _products(self, here: Array, within: Array) -> Array:
        products = (here @ self.leading)[:, :, None] * (within @ self.leading_factor)[:, None, :]
        return products.reshape(len(here), -1)


def _features_and_cells(features: FeatureMap, rows: Array) -> FeaturesAndCells:
    """Features of standardised rows without the indicators of cells, and the cells."""
    if isinstance(features, CellFeatures):
        return features.features_and_cells(rows)
    return FeaturesAndCells.without_cells(*features(rows))


def _features(features: FeaturesOf | FeaturesWithin, rows: Attributes) -> Features:
    given = np.empty((len(rows), 0)) if rows.given is None else rows.given.astype(np.float64, copy=False)
    return Features.of(given, features.features_and_cells(rows))


def _leading(standard: Array, row_weight: Array) -> Array:
    """A map to the columns themselves, or to their first 14 principal components, (column, component)."""
    count = standard.shape[1]
    if count <= _MOST_FACTORED:
        return np.eye(count)
    vectors: Array = np.linalg.eigh(standard.T @ (row_weight[:, None] * standard))[1][:, ::-1]
    return vectors[:, :_MOST_FACTORED]


@dataclass(frozen=True)
class Standardiser:
    """Columns of any rows, centred and scaled as the rows that fit h; (row, column) -> (row, varying column).

    Shapes: centre and scale (varying column,), varies (column,).
    """

    centre: Array
    scale: Array
    varies: Flags

    def __call__(self, rows: Array) -> Array:
        kept = slice(None) if self.varies.all() else self.varies  # a slice copies nothing
        centred = rows[:, kept] - self.centre  # in 64 bits for rows of any type, so that equal values stay equal
        return np.divide(centred, self.scale, out=centred)


def standardiser(sensitive: Array, row_weight: Array) -> Standardiser:
    """Weighted centring and scaling; columns that do not vary on these rows are left out."""
    centre = row_weight @ sensitive
    scale = np.sqrt(row_weight @ (sensitive - centre) ** 2)
    varies = vary(sensitive, centre, scale)
    return Standardiser(centre[varies], scale[varies], varies)


def free_linear_part(sensitive: Array) -> tuple[Array, Array]:
    """A itself as free features, or as penalised ones where A has too many columns for the rows.

    The limit is one free function per four rows: beyond it unpenalised least squares fits mostly noise.
    """
    nothing = np.empty((len(sensitive), 0))
    return (sensitive, nothing) if 4 * sensitive.shape[1] <= len(sensitive) else (nothing, sensitive)

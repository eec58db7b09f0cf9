"""What an estimator of E[f(X) | A = a] must offer.

Linear means differ only in their functions of A: a user's own one is a class with one method, ``feature_map``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from fairlevel.arrays import Array, Flags, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.smoother import Features, LinearSmoother, factor
from fairlevel.data.scaling import vary
from fairlevel.exceptions import InvalidInput, InvalidType

FeatureMap = Callable[[Array], tuple[Array, Array]]
"""A (row, attribute) -> (free features, penalised features), fitted on the rows that fit h."""


@runtime_checkable
class LevelMap(Protocol):
    """A feature map that also has levels, whose indicators are free features; they are counted, not written out."""

    levels: int

    def level(self, rows: Array) -> Index:
        """The level of each row, −1 for one never seen: (row, attribute) -> (row,)."""


_MOST_FACTORED = 14  # columns of A and of L whose products are used: 14² products at most


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
    joined_by_learnt: ClassVar[bool] = True
    """Whether functions of A that were learnt are further attributes to this mean."""

    def __post_init__(self) -> None:
        if self.ridge is not None and not self.ridge >= 0:
            raise InvalidInput(
                f"ridge={self.ridge} was given; a number ≥ 0 is needed, or None to choose it by cross-validation."
            )

    @abstractmethod
    def feature_map(self, sensitive: Array, row_weight: Array, seed: int) -> FeatureMap:
        """Features of A, fitted on these rows: knots, bandwidths, categories. ``sensitive`` is standardised."""

    def beside_factors(self) -> LinearMean:
        """The mean to use where functions of legitimate factors stand beside those of A."""
        return self

    def prepare(self, rows: Attributes, *, seed: int = 0) -> LinearSmoother:
        """Factor the smoother on these rows; the ridge is chosen, and training prepared, on the same ones."""
        return rows.once((replace(self, ridge=None), seed), lambda: factor(self.joint_map(rows, seed), rows))

    def joint_map(self, fit: Attributes, seed: int) -> JointMap:
        """Features of A, or of A and L together, fitted on these rows. A, or both side by side, are standardised."""
        weight = fit.weight
        uses_learnt = self.joined_by_learnt and fit.learnt is not None
        standardise = standardiser(_values(fit, uses_learnt), weight)
        here = standardise(_values(fit, uses_learnt))
        of_given = None if fit.given is None else standardiser(fit.given, weight)
        mean = self if fit.given is None else self.beside_factors()
        if fit.factors is None:
            return JointMap(uses_learnt, standardise, mean.feature_map(here, weight, seed), of_given)
        standardise_factors = standardiser(fit.factors, weight)
        within = standardise_factors(fit.factors)
        features = mean.feature_map(np.hstack([here, within]), weight, seed)
        leading = _leading(here, weight), _leading(within, weight)
        return JointMap(uses_learnt, standardise, features, of_given, standardise_factors, leading)


@dataclass(frozen=True)
class JointMap:
    """Features of A, with functions that were learnt; with legitimate factors, functions of L and features of A and L
    together, with products of their columns, or of their ``leading`` components, (column, component) each.
    """

    uses_learnt: bool
    standardise: Standardiser
    features: FeatureMap
    standardise_given: Standardiser | None = None
    standardise_factors: Standardiser | None = None
    leading: tuple[Array, Array] | None = None

    def __call__(self, rows: Attributes) -> Features:
        here = self.standardise(_values(rows, self.uses_learnt))
        given: Array = np.empty((len(rows), 0))
        if self.standardise_given is not None and rows.given is not None:
            given = self.standardise_given(rows.given)
        if self.standardise_factors is None or self.leading is None:
            return self._with_levels(given, here, *self.features(here))
        if rows.factors is None:
            raise InvalidInput("Legitimate factors are needed for both the fitted rows and the rows at.")
        within = self.standardise_factors(rows.factors)
        both = np.hstack([here, within])
        free, penalised = self.features(both)
        of_attributes, of_factors = self.leading
        products = (here @ of_attributes)[:, :, None] * (within @ of_factors)[:, None, :]
        return self._with_levels(given, both, free, np.hstack([penalised, products.reshape(len(rows), -1)]))

    def _with_levels(self, given: Array, columns: Array, free: Array, penalised: Array) -> Features:
        """Levels are counted; beside functions of L, which differ within a level, their indicators are written out."""
        if not isinstance(self.features, LevelMap) or not self.features.levels:
            return Features(given, free, penalised)
        level, levels = self.features.level(columns), self.features.levels
        if not given.shape[1]:
            return Features(given, free, penalised, level, levels)
        return Features(given, np.hstack([indicators(level, levels), free]), penalised)


def _values(rows: Attributes, with_learnt: bool) -> Array:
    """A, with functions of A that were learnt as further columns."""
    return rows.values if rows.learnt is None or not with_learnt else np.hstack([rows.values, rows.learnt])


def indicators(number: Index, count: int) -> Array:
    """One column per category or level: (row,) -> (row, count). A row of none, −1, has zeros: its mean is the
    intercept.
    """
    values = np.zeros((len(number), count))
    seen = np.flatnonzero(number >= 0)
    values[seen, number[seen]] = 1.0
    return values


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

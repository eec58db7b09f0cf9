"""What an estimator of E[f(X) | A = a] must offer.

Linear means differ only in their functions of A: a user's own one is a class with a name and one method,
``feature_map``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Protocol

import numpy as np

from fairlevel.arrays import Array, Flags, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.smoother import Features, LinearSmoother, MakesFeatures, factor
from fairlevel.data.scaling import vary
from fairlevel.exceptions import InvalidInput

_MOST_FACTORED = 14  # columns of A and of L whose products are used: 14² products at most


class FeatureMap(Protocol):
    """Functions of A, fitted on the rows that fit h."""

    def __call__(self, rows: Array) -> Features:
        """Their values at any rows, (row, attribute), standardised like those that fit h."""
        ...


@dataclass(frozen=True)
class LinearMean(ABC):
    """A conditional mean that is linear in the predictions: h = S f with S built from A alone.

    ``ridge`` is the penalty λ on the penalised features, in units of their second moments. ``None`` leaves the choice
    to the caller: metrics and estimators choose by cross-validation.
    """

    ridge: float | None = None

    name: ClassVar[str]
    kind: ClassVar[str] = "linear"
    """Beside "trained", such as ``MLPMean``."""
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

    def joint_map(self, fit: Attributes, seed: int) -> MakesFeatures:
        """Features of A and of functions that were learnt. Within legitimate factors L there are functions of L,
        features of A and L side by side, and products of their columns, or of the leading components of these. All
        columns are standardised on these rows.
        """

        def attributes(rows: Attributes) -> Array:
            joined = self.joined_by_learnt and rows.learnt is not None
            return np.hstack([rows.values, rows.learnt]) if joined and rows.learnt is not None else rows.values

        weight, standardise = fit.weight, standardiser(attributes(fit), fit.weight)
        mean = self if fit.given is None else self.beside_factors()
        given = None if fit.given is None else standardiser(fit.given, weight)
        here = standardise(attributes(fit))
        if fit.factors is None:
            features = mean.feature_map(here, weight, seed)
            return lambda rows: _beside(rows, given, Features(*features(standardise(attributes(rows)))))
        of_factors = standardiser(fit.factors, weight)
        within = of_factors(fit.factors)
        features = mean.feature_map(np.hstack([here, within]), weight, seed)
        leading, leading_within = _leading(here, weight), _leading(within, weight)

        def makes(rows: Attributes) -> Features:
            if rows.factors is None:
                raise InvalidInput("Legitimate factors are needed for both the fitted rows and the rows at.")
            columns, within = standardise(attributes(rows)), of_factors(rows.factors)
            beside = Features(*features(np.hstack([columns, within])))
            products = (columns @ leading)[:, :, None] * (within @ leading_within)[:, None, :]
            penalised = np.hstack([beside.penalised, products.reshape(len(rows), -1)])
            return _beside(rows, given, beside._replace(penalised=penalised))

        return makes


def _beside(rows: Attributes, given: Callable[[Array], Array] | None, features: Features) -> Features:
    """Functions of L beside features of A. They differ within a level, so that its indicators are written out."""
    if given is None or rows.given is None:
        return features
    free = features.free
    if features.level is not None:
        free = np.hstack([indicators(features.level, features.levels), free])
    return Features(free, features.penalised, given=given(rows.given))


def indicators(number: Index, count: int) -> Array:
    """One column per category: (row,) -> (row, count). A row of none, −1, has zeros."""
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


def standardiser(sensitive: Array, row_weight: Array) -> Callable[[Array], Array]:
    """Weighted centring and scaling of columns of any rows, as on these; those that do not vary on these are left out:
    (row, column) -> (row, varying column).
    """
    centre = row_weight @ sensitive
    scale = np.sqrt(row_weight @ (sensitive - centre) ** 2)
    varies = vary(sensitive, centre, scale)
    columns = slice(None) if varies.all() else varies  # a slice copies nothing
    return partial(_standardised, columns, centre[varies], scale[varies])


def _standardised(columns: slice | Flags, centre: Array, scale: Array, rows: Array) -> Array:
    centred = rows[:, columns] - centre  # in 64 bits for rows of any type, so that equal values stay equal
    return np.divide(centred, scale, out=centred)


def linear_part_is_free(sensitive: Array) -> bool:
    """Whether A itself stands among the free features, (row, attribute), or has too many columns for the rows: beyond
    one free function per four rows, unpenalised least squares fits mostly noise.
    """
    return 0 < 4 * sensitive.shape[1] <= len(sensitive)


@dataclass(frozen=True)
class RidgeMean(LinearMean):
    r"""Linear conditional mean, h(a) = b + θᵀa with penalty λ‖θ‖² on standardised attributes; λ = 0 is least squares.

    .. math:: S_\lambda = \tfrac1n 1 1^\top + \tfrac1n A_c (A_c^\top A_c / n + \lambda I)^{-1} A_c^\top
    """

    name: ClassVar[str] = "ridge"
    joined_by_learnt: ClassVar[bool] = False

    def feature_map(self, sensitive: Array, row_weight: Array, seed: int) -> FeatureMap:
        return lambda rows: Features(rows[:, :0], rows)

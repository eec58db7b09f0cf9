"""What an estimator of E[f(X) | A = a] must offer.

Linear means differ only in their features of A. Trained means (see ``mlp.py``) follow the gradient of an inner loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
import torch

from fairlevel.arrays import Array
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.factorisation import Features, factor
from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.exceptions import InvalidInput, InvalidType

FeatureMap = Callable[[Array], tuple[Array, Array]]
"""A (row, attribute) -> (free features, penalised features), fitted on the rows that fit h."""


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

    def __post_init__(self) -> None:
        if self.ridge is not None and not self.ridge >= 0:
            raise InvalidInput(
                f"ridge={self.ridge} was given; a number ≥ 0 is needed, or None to choose it by cross-validation."
            )

    @abstractmethod
    def feature_map(self, sensitive: Array, row_weight: Array, seed: int) -> FeatureMap:
        """Features of A, fitted on these rows: knots, bandwidths, categories. ``sensitive`` is standardised."""

    def prepare(self, fit: Attributes, at: Array | Attributes | None = None, *, seed: int = 0) -> LinearSmoother:
        """Factor the smoother that is fitted on the rows ``fit`` and evaluated at the rows ``at`` (default: the same
        rows). Rows to evaluate at are (row, attribute), or :class:`Attributes` where ``fit`` has functions of L.
        """
        if at is None:
            return fit.made((self, seed), lambda: self._factored(fit, None, seed))
        return self._factored(fit, at if isinstance(at, Attributes) else Attributes(at), seed)

    def _factored(self, fit: Attributes, there: Attributes | None, seed: int) -> LinearSmoother:
        weight = fit.weight
        standardise = standardiser(fit.values, weight)
        standard = standardise(fit.values)
        features = self.feature_map(standard, weight, seed)
        if there is None:
            return factor(_features(features, standard, fit.given), torch.from_numpy(weight))
        if (fit.given is None) != (there.given is None):
            raise InvalidInput("Functions of legitimate factors are needed for both the fitted rows and the rows at.")
        return factor(
            _features(features, standard, fit.given),
            torch.from_numpy(weight),
            _features(features, standardise(there.values), there.given),
        )


def _features(features: FeatureMap, standard: Array, given: Array | None) -> Features:
    free, penalised = map(torch.from_numpy, features(standard))
    functions = np.empty((len(standard), 0)) if given is None else given.astype(np.float64, copy=False)
    return Features(torch.from_numpy(functions), free, penalised)


def standardiser(sensitive: Array, row_weight: Array) -> Callable[[Array], Array]:
    """Weighted centring and scaling; columns that do not vary on these rows are left out."""
    centre = row_weight @ sensitive
    scale = np.sqrt(row_weight @ (sensitive - centre) ** 2)
    varies = (np.ptp(sensitive, axis=0) > 0) & (scale > 8 * np.finfo(np.float64).eps * np.abs(centre))
    kept = slice(None) if varies.all() else varies  # a slice copies nothing
    centre, scale = centre[kept], scale[kept]

    def standardise(rows: Array) -> Array:
        centred = rows[:, kept] - centre  # in 64 bits for rows of any type, so that equal values stay equal
        return np.divide(centred, scale, out=centred)

    return standardise


def free_linear_part(sensitive: Array) -> tuple[Array, Array]:
    """A itself as free features, or as penalised ones where A has too many columns for the rows.

    The limit is one free function per four rows: beyond it unpenalised least squares fits mostly noise.
    """
    nothing = np.empty((len(sensitive), 0))
    return (sensitive, nothing) if 4 * sensitive.shape[1] <= len(sensitive) else (nothing, sensitive)

"""Additive penalised cubic splines, one smooth curve per attribute."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import factorial
from typing import ClassVar

import numpy as np

from fairlevel.arrays import Array
from fairlevel.conditional_mean.protocol import FeatureMap, LinearMean, free_linear_part
from fairlevel.exceptions import InvalidInput

_DEGREE = 3


@dataclass(frozen=True)
class SplineMean(LinearMean):
    r"""Additive conditional mean h(a) = b + Σ_k g_k(a_k); intercept and slopes unpenalised, curvature penalised.

    Each g_k is a cubic B-spline with quantile knots and the P-spline penalty λ‖Δ²θ_k‖² (Eilers & Marx, 1996). Outside
    the fitted range curves continue as straight lines. With many attributes fewer knots are used, so that features
    stay below half the rows.
    """

    knots: int = 10

    name: ClassVar[str] = "splines"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.knots < 3:
            raise InvalidInput(f"knots={self.knots} was given; at least 3 are needed, such as 10.")

    def feature_map(self, sensitive: Array, row_weight: Array, seed: int) -> FeatureMap:
        affordable = len(sensitive) // (2 * max(sensitive.shape[1], 1))
        knots = int(np.clip(self.knots, 3, max(affordable, 3)))
        linear_is_free = free_linear_part(sensitive)[0].shape[1] > 0
        return SplineFeatures(tuple(_knots(column, knots) for column in sensitive.T), linear_is_free)


@dataclass(frozen=True)
class SplineFeatures:
    """Straight lines and the curved parts of all attributes; knots, one array per attribute."""

    knots: tuple[Array, ...]
    linear_is_free: bool

    def __call__(self, rows: Array) -> tuple[Array, Array]:
        straight = 0 if self.linear_is_free else rows.shape[1]
        penalised = np.empty((len(rows), straight + sum(curve.functions for curve in self._curves)))
        penalised[:, :straight] = rows[:, :straight]
        first = straight
        for curve, column in zip(self._curves, rows.T, strict=True):
            curve(column, out=penalised[:, first : first + curve.functions])
            first += curve.functions
        return rows[:, straight:], penalised

    @cached_property
    def _curves(self) -> list[Curve]:
        return [Curve.of(knots) for knots in self.knots]

    def __getstate__(self) -> dict[str, object]:
        return {"knots": self.knots, "linear_is_free": self.linear_is_free}  # curves are made again


def _knots(column: Array, count: int) -> Array:
    """Knots at quantiles; where repeated values share a quantile, spread over the distinct values instead."""
    knots = np.unique(np.quantile(column, np.linspace(0, 1, count)))
    return knots if len(knots) == count else np.unique(np.quantile(np.unique(column), np.linspace(0, 1, count)))


@dataclass(frozen=True)
class Curve:
    """The curved part of one attribute in coordinates where the second-difference penalty is the identity: cubic
    polynomials between the knots, straight lines beyond the outer ones.

    Shapes: starts of the intervals (interval,), the first one reaching down to −∞; coefficients (interval, power,
    function), the highest power first, of polynomials in the distance from the start.
    """

    starts: Array
    coefficients: Array

    @classmethod
    def of(cls, knots: Array) -> Curve:
        """The curve with these knots. Fewer than three give no functions: a slope fits two values."""
        if len(knots) < 3:
            return cls(knots[:1], np.empty((1, _DEGREE + 1, 0)))
        roughness = np.diff(np.eye(len(knots) + _DEGREE - 1), n=2, axis=0)
        stiffness, directions = np.linalg.eigh(roughness.T @ roughness)
        # without the two directions of Δ²θ = 0: the attribute itself stands for them
        whiten = directions[:, 2:] / np.sqrt(stiffness[2:])
        first, last = knots[1] - knots[0], knots[-1] - knots[-2]
        beyond = np.arange(1, _DEGREE + 1)
        extended = np.concatenate([knots[0] - first * beyond[::-1], knots, knots[-1] + last * beyond])
        # the expansion at each knot holds until the next one; beyond the outer ones only constant and slope do
        expansions = np.stack(_expansions(extended, whiten, knots)[::-1], axis=1)
        below, expansions[-1, :-2] = expansions[0].copy(), 0
        below[:-2] = 0
        return cls(knots[np.r_[0, : len(knots)]], np.concatenate([below[None], expansions]))

    @property
    def functions(self) -> int:
        return self.coefficients.shape[2]

    def __call__(self, values: Array, out: Array) -> None:
        """Writes the functions at these values: (row,), (row, function)."""
        interval = np.searchsorted(self.starts[1:], values, side="right")
        distance = values - self.starts[interval]
        square = distance * distance
        powers = np.stack([square * distance, square, distance, np.ones_like(distance)], axis=1)
        np.einsum("rp,rpf->rf", powers, self.coefficients.take(interval, axis=0, mode="clip"), out=out)


def _expansions(knots: Array, coefficients: Array, at: Array) -> list[Array]:
    """Taylor coefficients of cubic splines, from the constant to the cubic one, (point, function) each: the derivative
    of a spline is a spline of the degree below, with differences of the coefficients (B-spline, function). SciPy has
    this, too, but importing it takes as long as a small audit.
    """
    expansions = []
    for power in range(_DEGREE + 1):
        degree = _DEGREE - power
        expansions.append(_b_splines(knots, degree, at) @ coefficients / factorial(power))
        if degree:
            spans = knots[degree + 1 : -1] - knots[1 : -degree - 1]
            knots, coefficients = knots[1:-1], degree * np.diff(coefficients, axis=0) / spans[:, None]
    return expansions


def _b_splines(knots: Array, degree: int, at: Array) -> Array:
    """All B-splines with these distinct knots, by the recursion of Cox and de Boor: (point,) -> (point, B-spline)."""
    points = at[:, None]
    values = ((knots[:-1] <= points) & (points < knots[1:])).astype(np.float64)
    for order in range(1, degree + 1):
        rising = (points - knots[:-order]) / (knots[order:] - knots[:-order])
        values = rising[:, :-1] * values[:, :-1] + (1 - rising[:, 1:]) * values[:, 1:]
    return values

"""Additive penalised cubic splines, one smooth curve per attribute."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
from scipy.interpolate import BSpline

from fairlevel.arrays import Array
from fairlevel.conditional_mean.protocol import FeatureMap, LinearMean, linear_part_is_free
from fairlevel.conditional_mean.smoother import Features
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
        curves = tuple(Curve(_knots(column, knots)) for column in sensitive.T)
        return partial(_additive, curves, linear_part_is_free(sensitive))


def _additive(curves: tuple[Curve, ...], linear_is_free: bool, rows: Array) -> Features:
    """Straight lines and the curved parts of all attributes, one curve per attribute."""
    curved = [curve(column) for curve, column in zip(curves, rows.T, strict=True)]
    straight = rows if linear_is_free else rows[:, :0]
    return Features(straight, np.hstack([rows[:, straight.shape[1] :], *curved]))


def _knots(column: Array, count: int) -> Array:
    """Knots at quantiles; where repeated values share a quantile, spread over the distinct values instead."""
    knots = np.unique(np.quantile(column, np.linspace(0, 1, count)))
    return knots if len(knots) == count else np.unique(np.quantile(np.unique(column), np.linspace(0, 1, count)))


@dataclass(frozen=True)
class Curve:
    """The curved part of one attribute in coordinates where the second-difference penalty is the identity: a cubic
    spline between the outer knots, straight lines beyond them. Fewer than three knots give no functions: a slope fits
    two values.
    """

    knots: Array

    @cached_property
    def spline(self) -> BSpline:
        """All functions as one spline with several values."""
        roughness = np.diff(np.eye(len(self.knots) + _DEGREE - 1), n=2, axis=0)
        stiffness, directions = np.linalg.eigh(roughness.T @ roughness)
        # without the two directions of Δ²θ = 0: the attribute itself stands for them
        whiten = directions[:, 2:] / np.sqrt(stiffness[2:])
        first, last = self.knots[1] - self.knots[0], self.knots[-1] - self.knots[-2]
        beyond = np.arange(1, _DEGREE + 1)
        return BSpline(
            np.concatenate([self.knots[0] - first * beyond[::-1], self.knots, self.knots[-1] + last * beyond]),
            whiten,
            _DEGREE,
        )

    def __call__(self, values: Array) -> Array:
        """The functions at these values: (row,) -> (row, function)."""
        if len(self.knots) < 3:
            return np.empty((len(values), 0))
        inside = np.clip(values, self.knots[0], self.knots[-1])
        functions: Array = self.spline(inside)
        outside = np.flatnonzero(inside != values)
        if len(outside):
            slopes = self.spline.derivative()(inside[outside])
            functions[outside] += slopes * (values - inside)[outside, None]
        return functions

"""Additive penalised cubic splines, one smooth curve per attribute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import factorial
from typing import ClassVar

import numpy as np
from scipy.interpolate import BSpline, PPoly

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
        return SplineFeatures(tuple(_places(column, knots) for column in sensitive.T), linear_is_free)


@dataclass(frozen=True)
class SplineFeatures:
    """Straight lines and the curved parts of all attributes; places of knots, one array per attribute."""

    places: tuple[Array, ...]
    linear_is_free: bool

    def __call__(self, rows: Array) -> tuple[Array, Array]:
        curved = [curve(column) for curve, column in zip(self._curves, rows.T, strict=True)]
        penalised = np.hstack([np.empty((len(rows), 0)), *curved])
        return (rows, penalised) if self.linear_is_free else (rows[:, :0], np.hstack([rows, penalised]))

    @cached_property
    def _curves(self) -> list[Callable[[Array], Array]]:
        return [_curve(places) for places in self.places]

    def __getstate__(self) -> dict[str, object]:
        return {"places": self.places, "linear_is_free": self.linear_is_free}  # curves are made again


def _places(column: Array, knots: int) -> Array:
    """Knots at quantiles; where repeated values share a quantile, spread over the distinct values instead."""
    places = np.unique(np.quantile(column, np.linspace(0, 1, knots)))
    return places if len(places) == knots else np.unique(np.quantile(np.unique(column), np.linspace(0, 1, knots)))


def _curve(places: Array) -> Callable[[Array], Array]:
    """The curved part of one attribute in coordinates where the second-difference penalty is the identity: cubic
    polynomials between the knots, straight lines beyond the outer ones; (row,) -> (row, function).
    """
    if len(places) < 3:
        return lambda values: np.empty((len(values), 0))  # two values: the slope is enough
    roughness = np.diff(np.eye(len(places) + _DEGREE - 1), n=2, axis=0)
    stiffness, directions = np.linalg.eigh(roughness.T @ roughness)
    whiten = directions[:, 2:] / np.sqrt(stiffness[2:])  # the first two, constant and slope, are free
    first, last = places[1] - places[0], places[-1] - places[-2]
    beyond = np.arange(1, _DEGREE + 1)
    knots = np.concatenate([places[0] - first * beyond[::-1], places, places[-1] + last * beyond])
    spline = BSpline(knots, whiten, _DEGREE)
    # (power, knot, function), highest power first: the expansion at each knot, which holds until the next one
    powers = np.stack([spline(places, power) / factorial(power) for power in range(_DEGREE, -1, -1)])
    powers[:-2, -1] = 0
    below = np.zeros_like(powers[:, :1])
    below[-2:] = powers[-2:, :1]
    below[-1] -= first * below[-2]  # a line expanded where its interval begins
    breaks = np.concatenate([places[:1] - first, places, places[-1:] + last])
    return PPoly(np.concatenate([below, powers], axis=1), breaks)

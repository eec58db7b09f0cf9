"""Wasserstein barycentre for continuous A, where predictions given A differ in location and scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from fairlevel.arrays import Array
from fairlevel.benchmark.systems.barycentre import mixed_with
from fairlevel.benchmark.systems.protocol import Data, FittedFunctions
from fairlevel.benchmark.systems.stack import plain_network
from fairlevel.candidates import TrainingSetup
from fairlevel.candidates.protocol import PLAIN_RATE
from fairlevel.conditional_mean import RandomFeaturesMean
from fairlevel.conditional_mean.attributes import Attributes

MEAN = RandomFeaturesMean()
SMALLEST_SCALE = 0.1  # of s(a), as a share of its root mean square: the fitted variance may fall below zero


@dataclass(frozen=True)
class LocationScale:
    r"""g(f, a) = E h(A) + E s(A) · (f − h(a)) / s(a), with h(a) = E[f|a] and s²(a) = Var(f|a).

    Distributions of f given a that differ in location and scale only, such as Gaussians, have this barycentre (Le Gouic
    et al. 2020). h and s² are smoothed on the training rows, each with a ridge of its own. Shapes: moments f and
    (f − h)² (2, row), ridges (2,).
    """

    attributes: Attributes
    moments: Array
    ridges: Array
    seed: int

    @classmethod
    def of(cls, prediction: Array, a: Array, seed: int) -> Self:
        attributes, rows = Attributes(a), prediction[None]
        smoother = MEAN.prepare(attributes, seed=seed)
        ridge = smoother.choose_ridge(rows)
        square = np.square(rows - smoother.apply(rows, ridge))
        ridges = np.concatenate([ridge, smoother.choose_ridge(square)])
        return cls(attributes, np.concatenate([rows, square]), ridges, seed)

    def location_and_scale(self, a: Array) -> tuple[Array, Array]:
        """h and s, (row,) each."""
        smoother = MEAN.prepare(self.attributes, seed=self.seed)
        mean, square = smoother.predict(self.moments, self.ridges, Attributes(a))
        least = max(SMALLEST_SCALE**2 * float(self.moments[1].mean()), 1e-12)
        return mean, np.sqrt(square.clip(min=least))

    @cached_property
    def centre(self) -> tuple[float, float]:
        """E h(A) and E s(A) on the training rows."""
        mean, scale = self.location_and_scale(self.attributes.values)
        return float(mean.mean()), float(scale.mean())

    def __call__(self, prediction: Array, a: Array) -> Array:
        mean, scale = self.location_and_scale(a)
        location, spread = self.centre
        moved: Array = location + spread * (prediction - mean) / scale
        return moved


@dataclass(frozen=True)
class ContinuousBarycentre:
    """A plain network, moved by A itself, without groups. It needs A to predict.

    A strength t mixes (1 − t) f + t g, as in :class:`~fairlevel.benchmark.systems.barycentre.Barycentre`.
    """

    learning_rate: float = PLAIN_RATE

    name: ClassVar[str] = "barycentre_continuous"
    uses_attributes: ClassVar[bool] = True

    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> FittedFunctions:
        members = plain_network(data.x, data.y, setup, self.learning_rate)
        moved = LocationScale.of(members.predict(data.x)[0], data.a, setup.seed)
        return mixed_with(moved, members, data, strengths)

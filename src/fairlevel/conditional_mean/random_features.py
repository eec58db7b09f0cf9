"""Random Fourier features of A beside A itself: any dimension, any smooth shape."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from fairlevel.arrays import Array
from fairlevel.conditional_mean.protocol import FeatureMap, LinearMean, linear_part_is_free
from fairlevel.conditional_mean.smoother import Features
from fairlevel.exceptions import InvalidInput

_MOST_COMPARED = 1000  # rows whose distances are computed
_SAME_PLACE = 1e-7  # of the largest distance from the mean


@dataclass(frozen=True)
class RandomFeaturesMean(LinearMean):
    r"""Kernel-like conditional mean: intercept and A unpenalised, random Fourier features penalised.

    .. math:: \phi_d(a) = \sqrt{2/D} \cos(w_d^\top a + b_d), \qquad w_d \sim N(0, \sigma^{-2} I),\; b_d \sim U[0, 2\pi)

    ``features`` is D. ``bandwidth`` multiplies σ, the median distance between profiles.
    """

    features: int = 200
    bandwidth: float = 1.0

    name: ClassVar[str] = "random_features"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bandwidth is None:  # as models that 0.2 saved say it
            object.__setattr__(self, "bandwidth", 1.0)
        if not self.bandwidth > 0:
            raise InvalidInput(f"bandwidth={self.bandwidth} was given; a positive number is needed, such as 1.0.")
        if self.features < 1:
            raise InvalidInput(f"features={self.features} was given; at least 1 is needed, such as 200.")

    def feature_map(self, sensitive: Array, row_weight: Array, seed: int) -> FeatureMap:
        random = np.random.default_rng(seed)
        scale = self.bandwidth * median_distance(sensitive, random)
        frequencies, phases = draw_waves(sensitive.shape[1], self.features, scale, random)
        return partial(_waves, frequencies, phases, linear_part_is_free(sensitive))


def _waves(frequencies: Array, phases: Array, linear_is_free: bool, rows: Array) -> Features:
    """Straight lines and random Fourier features; frequencies (attribute, feature), phases (feature,)."""
    values = rows @ frequencies + phases
    np.cos(values, out=values)
    values *= np.sqrt(2 / len(phases))
    return Features(rows, values) if linear_is_free else Features(rows[:, :0], np.hstack([rows, values]))


def draw_waves(attributes: int, features: int, scale: float, random: np.random.Generator) -> tuple[Array, Array]:
    """Frequencies w_d, (attribute, feature), and phases b_d, (feature,), of a kernel with bandwidth ``scale``."""
    frequencies: Array = random.standard_normal((attributes, features)) / scale
    return frequencies, random.uniform(0, 2 * np.pi, features)


def median_distance(rows: Array, random: np.random.Generator) -> float:
    """Median distance between rows, from at most 1000 of them; the mean where more than half coincide."""
    from scipy.spatial.distance import pdist

    sample = rows if len(rows) <= _MOST_COMPARED else rows[random.choice(len(rows), _MOST_COMPARED, replace=False)]
    if len(sample) < 2:
        return 1.0
    centred = sample - sample.mean(axis=0)
    distances = pdist(centred)
    same = _SAME_PLACE * float(np.sqrt(np.square(centred).sum(axis=1).max()))  # rows that coincide, up to rounding
    median = float(np.median(distances))
    return median if median > same else float(np.where(distances > same, distances, 0).mean()) or 1.0

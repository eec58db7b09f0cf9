"""Random Fourier features of A beside A itself: any dimension, any smooth shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.conditional_mean.protocol import FeatureMap, LinearMean, free_linear_part, may_round
from fairlevel.exceptions import InvalidInput


@dataclass(frozen=True)
class RandomFeaturesMean(LinearMean):
    r"""Kernel-like conditional mean: intercept and A unpenalised, random Fourier features penalised.

    .. math:: \phi_d(a) = \sqrt{2/D} \cos(w_d^\top a + b_d), \qquad w_d \sim N(0, \sigma^{-2} I),\; b_d \sim U[0, 2\pi)

    ``bandwidth`` multiplies σ, the median distance between profiles. ``features`` is D.
    """

    features: int = 200
    bandwidth: float = 1.0

    name: ClassVar[str] = "random_features"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.bandwidth > 0:
            raise InvalidInput(f"bandwidth={self.bandwidth} was given; a positive number is needed, such as 1.0.")
        if self.features < 1:
            raise InvalidInput(f"features={self.features} was given; at least 1 is needed, such as 200.")

    def feature_map(self, sensitive: Array, row_weight: Array, seed: int) -> Waves:
        random = np.random.default_rng(seed)
        scale = self.bandwidth * median_distance(sensitive, random)
        frequencies, phases = draw_waves(sensitive.shape[1], self.features, scale, random)
        linear_is_free = free_linear_part(sensitive)[0].shape[1] > 0
        return Waves(frequencies, phases, linear_is_free)

    def many_rows_map(self, sensitive: Array, row_weight: Array, seed: int) -> FeatureMap:
        exact = self.feature_map(sensitive, row_weight, seed)
        if not may_round(len(sensitive), self.features):
            return exact
        return RoundedWaves(exact.frequencies, exact.phases, exact.linear_is_free)


@dataclass(frozen=True)
class Waves:
    """Straight lines and random Fourier features; frequencies (attribute, feature), phases (feature,)."""

    frequencies: Array
    phases: Array
    linear_is_free: bool

    def __call__(self, rows: Array) -> tuple[Array, Array]:
        # all in PyTorch: threads of NumPy would keep a core busy after their work
        at, directions, shifts = (
            torch.from_numpy(each.astype(rows.dtype, copy=False)) for each in (rows, self.frequencies, self.phases)
        )
        values = waves(at, directions, shifts).numpy()
        return (rows, values) if self.linear_is_free else (rows[:, :0], np.hstack([rows, values]))


@dataclass(frozen=True)
class RoundedWaves(Waves):
    """The same in 32 bits, for very many rows: cosines take a third of the time. What rounding adds to a wave, 1e-7 of
    its size, has a variance far below the smallest that counts as a function of A.
    """

    def __call__(self, rows: Array) -> tuple[Array, Array]:
        at, directions, shifts = (
            torch.from_numpy(each.astype(np.float32)) for each in (rows, self.frequencies, self.phases)
        )
        values = torch.addmm(shifts, at, directions).numpy()
        np.cos(values, out=values)  # a third faster than PyTorch's in 32 bits
        values *= np.float32((2 / len(shifts)) ** 0.5)
        return (rows, values) if self.linear_is_free else (rows[:, :0], np.hstack([rows, values]))


def draw_waves(attributes: int, features: int, scale: float, random: np.random.Generator) -> tuple[Array, Array]:
    """Frequencies w_d, (attribute, feature), and phases b_d, (feature,), of a kernel with bandwidth ``scale``."""
    frequencies: Array = random.standard_normal((attributes, features)) / scale
    return frequencies, random.uniform(0, 2 * np.pi, features)


def waves(rows: Tensor, frequencies: Tensor, phases: Tensor) -> Tensor:
    """φ_d at standardised rows of A: (row, attribute) -> (row, feature)."""
    return torch.addmm(phases, rows, frequencies).cos_().mul_((2 / len(phases)) ** 0.5)


def median_distance(rows: Array, random: np.random.Generator, most: int = 1000) -> float:
    """Median distance between rows, from at most ``most`` of them; the mean where more than half coincide."""
    sample = rows if len(rows) <= most else rows[random.choice(len(rows), most, replace=False)]
    if len(sample) < 2:
        return 1.0
    distances = torch.pdist(torch.from_numpy(sample.astype(np.float64, copy=False))).numpy()
    return float(np.median(distances) or distances.mean() or 1.0)

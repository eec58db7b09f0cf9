"""Random Fourier features of A beside A itself: any dimension, any smooth shape."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.conditional_mean.cells.discrete_columns import discrete_columns
from fairlevel.conditional_mean.protocol import FeatureMap, LinearMean, free_linear_part, may_round
from fairlevel.exceptions import InvalidInput

BANDWIDTHS = (1.0, 1 / 4, 1 / 16, 1 / 64, 1 / 256)
"""Those to choose from: smooth across all of A, and others for differences between near profiles, such as districts
of a city or seasons within many years."""

_LEAST_ROWS, _ROWS_PER_PLACE = 1000, 10  # that a bandwidth below 1 needs, in all and per place
_ROWS_PER_FEATURE = 15
_NARROWEST_OF_CODES = 1 / 16  # where all of A is discrete: finer differences are left to GroupMean
_COUNTED = 4096  # rows whose different values are counted
_SAME_PLACE = 1e-14  # of the largest squared distance from the mean


@dataclass(frozen=True)
class RandomFeaturesMean(LinearMean):
    r"""Kernel-like conditional mean: intercept and A unpenalised, random Fourier features penalised.

    .. math:: \phi_d(a) = \sqrt{2/D} \cos(w_d^\top a + b_d), \qquad w_d \sim N(0, \sigma^{-2} I),\; b_d \sim U[0, 2\pi)

    ``features`` is D. ``bandwidth`` multiplies σ, the median distance between profiles. ``None`` leaves the choice to
    the caller, as for the ridge: metrics and estimators choose among :meth:`resolutions`; where nothing is chosen it is
    1.
    """

    features: int = 200
    bandwidth: float | None = None

    name: ClassVar[str] = "random_features"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bandwidth is not None and not self.bandwidth > 0:
            raise InvalidInput(
                f"bandwidth={self.bandwidth} was given; a positive number is needed, such as 1.0, or None to choose it "
                "by cross-validation."
            )
        if self.features < 1:
            raise InvalidInput(f"features={self.features} was given; at least 1 is needed, such as 200.")

    @property
    def label(self) -> str:
        return self.name if self.bandwidth in (None, 1.0) else f"{self.name} of bandwidth {self.bandwidth:g}"

    def resolutions(self, sensitive: Array) -> tuple[RandomFeaturesMean, ...]:
        """With the bandwidths to choose from, or the given one. A kernel of width b tells 1/b places apart along each
        column, or its different values where these are fewer; b is offered where there are 10 rows per place, and 1000
        in all. Features are two per place, but no fewer than at bandwidth 1, and at most 2.5 times as many, and at
        most one per 15 rows.
        """
        if self.bandwidth is not None:
            return (self,)
        if len(sensitive) < _LEAST_ROWS:
            return (replace(self, bandwidth=1.0),)
        some = sensitive[np.linspace(0, len(sensitive) - 1, min(len(sensitive), _COUNTED)).astype(np.int64)]
        values = np.array([len(np.unique(column)) for column in some.T], dtype=np.float64)
        places = {width: float(np.minimum(values, 1 / width).prod()) for width in BANDWIDTHS}
        narrowest = _NARROWEST_OF_CODES if discrete_columns(sensitive).all() else 0.0
        most = min(2.5 * self.features, len(sensitive) / _ROWS_PER_FEATURE)
        return tuple(
            replace(self, bandwidth=width, features=max(self.features, int(min(2 * count, most))))
            for width, count in places.items()
            if width == 1 or (_ROWS_PER_PLACE * count <= len(sensitive) and width >= narrowest)
        )

    def feature_map(self, sensitive: Array, row_weight: Array, seed: int) -> Waves:
        random = np.random.default_rng(seed)
        scale = (self.bandwidth or 1.0) * median_distance(sensitive, random)
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


def median_distance(rows: Array, random: np.random.Generator) -> float:
    """Median distance between rows, from at most 1000 of them; the mean where more than half coincide."""
    sample = rows if len(rows) <= 1000 else rows[random.choice(len(rows), 1000, replace=False)]
    if len(sample) < 2:
        return 1.0
    return _median_distance(sample.astype(np.float64, copy=False).tobytes(), sample.shape)


@lru_cache(maxsize=16)
def _median_distance(rows: bytes, shape: tuple[int, ...]) -> float:
    """The same rows are asked for by each bandwidth; half a million distances take 7 ms.

    Squares come from a product, ‖a‖² + ‖b‖² − 2 aᵀb: PyTorch's ``pdist`` takes six times as long on x86.
    """
    centred = torch.from_numpy(np.frombuffer(rows).reshape(shape).copy())
    centred -= centred.mean(dim=0)
    lengths = centred.square().sum(dim=1)
    squares = torch.addmm(lengths, centred, centred.T, alpha=-2).add_(lengths.unsqueeze(1))
    distances = squares.view(-1)[_pairs(len(centred))].clamp_min_(0).sqrt_()
    same = (_SAME_PLACE * float(lengths.max())) ** 0.5  # rounding leaves less than this of rows that coincide
    median = float(np.median(distances.numpy()))
    if median > same:
        return median
    return float(torch.where(distances > same, distances, 0).mean()) or 1.0


@lru_cache(maxsize=1)
def _pairs(rows: int) -> Tensor:
    """Where a matrix of all rows by all rows holds each pair once, (pair,)."""
    first, second = torch.triu_indices(rows, rows, 1).unbind()
    return first * rows + second

"""HSIC: full dependence between prediction and A, exact, in blocks; and in linear time, through random features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import ClassVar, NamedTuple

import numpy as np

from fairlevel.arrays import AnyArray, namespace, on_cpu
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.random_features import median_distance
from fairlevel.exceptions import InvalidInput
from fairlevel.extras import networks
from fairlevel.penalties.protocol import Penalty, PenaltyStep, Prepared
from fairlevel.penalties.toolkit import check_positive, row_blocks

_NUMBERS, _NUMBERS_ON_GPU = 2**18, 2**27  # in a block of pairs: within a core's cache, or filling the GPU
_CURVATURE = 0.1  # second derivative in the correlation of a Gaussian pair, against that of the squared error


class PairSums(NamedTuple):
    """Σ_j w_j K_ij (HLH)_ij and Σ_j w_j K_ij (HLH)_ij (u_i − u_j), each (config, row)."""

    value: AnyArray
    slope: AnyArray


@dataclass(frozen=True)
class KernelRows(Prepared):
    """Attributes and the centring of their Gaussian kernel L; L itself is never kept.

    Shapes: sensitive (row, attribute), bandwidth σ_A, row_mean of L (row,), mean of L (), row_weight (row,).
    """

    sensitive: AnyArray
    bandwidth: float
    row_mean: AnyArray
    mean: AnyArray
    row_weight: AnyArray

    def centred(self, rows: slice, others: slice) -> AnyArray:
        """(H L H) between some rows and others: (row, other)."""
        values = _kernel(self.sensitive[rows], self.sensitive[others], self.bandwidth)
        values -= (self.row_mean[rows] - self.mean)[:, None]
        values -= self.row_mean[others]
        return values


@dataclass(frozen=True)
class HSIC(Penalty):
    r"""Hilbert–Schmidt independence criterion (Gretton et al., 2005) with Gaussian kernels, biased form.

    .. math:: \mathrm{HSIC} = \tfrac{1}{n^2} \sum_{ij} K_{ij} (HLH)_{ij}, \qquad
              K_{ij} = e^{-(f_i - f_j)^2 / 2 \sigma_f^2}, \qquad L_{ij} = e^{-\|a_i - a_j\|^2 / 2 \sigma_A^2}, \qquad
              \frac{\partial\, \mathrm{HSIC}}{\partial f_i} =
              -\frac{2}{n^2 \sigma_f^2} \sum_j K_{ij} (HLH)_{ij} (f_i - f_j)

    Time O(n²), memory O(n): blocks of pairs are computed anew at each step, each pair once for both of its rows. Zero
    only under independence, so it also forbids differences of spread that DPVar allows.

    Parameters
    ----------
    bandwidth : σ_f in standard deviations of y, fixed, or shrinking f would shrink it too
    sensitive_bandwidth : σ_A as a multiple of the median distance between rows of A
    block : numbers in a block of pairs; None for what suits the device
    """

    bandwidth: float = 1.0
    sensitive_bandwidth: float = 1.0
    block: int | None = None

    name: ClassVar[str] = "hsic"

    def __post_init__(self) -> None:
        check_positive(bandwidth=self.bandwidth, sensitive_bandwidth=self.sensitive_bandwidth)
        if self.block is not None:
            check_positive(block=self.block)

    def prepare(self, attributes: Attributes, seed: int) -> KernelRows:
        values, weight = attributes.values, attributes.weight
        bandwidth = self.sensitive_bandwidth * median_distance(values, np.random.default_rng(seed))
        row_mean = np.zeros(len(weight))
        for rows, others in _pairs(len(weight), self.block or _NUMBERS):
            similar = _kernel(values[rows], values[others], bandwidth)
            row_mean[rows] += similar @ weight[others]
            if rows != others:
                row_mean[others] += weight[rows] @ similar
        return KernelRows(values, bandwidth, row_mean, np.asarray(row_mean @ weight), weight)

    def step(self, prediction: AnyArray, prepared: KernelRows, state: None) -> PenaltyStep:
        weight = prepared.row_weight
        value, slope = self._pair_sums(prediction / self.bandwidth, prepared)
        return PenaltyStep(value @ weight, -2 * weight * slope / self.bandwidth, curvature=_CURVATURE)

    def value(self, prediction: AnyArray, prepared: KernelRows, state: None) -> AnyArray:
        """HSIC less what independence would leave of the biased form, mean(1 − K) mean(1 − L) / n."""
        weight, scaled = prepared.row_weight, prediction / self.bandwidth
        similar: AnyArray = 0.0
        for rows, others in self._blocks(prediction):
            twice = 1 if rows == others else 2
            similar += twice * (_kernel_of_one(scaled[:, rows], scaled[:, others]) @ weight[others]) @ weight[rows]
        floor = (1 - similar) * (1 - prepared.mean) * (weight**2).sum()
        return self.step(prediction, prepared, state).value - floor

    def _pair_sums(self, u: AnyArray, prepared: KernelRows) -> PairSums:
        """The sums over pairs of rows that value and gradient need; u (config, row)."""
        if not on_cpu(u):
            on_gpu = networks("on_gpu.pairs").pairs_on_gpu(u, prepared.sensitive)
            if on_gpu is not None:
                return on_gpu.sums(u, prepared)  # type: ignore[no-any-return]
        weight, xp = prepared.row_weight, namespace(u)
        columns = xp.stack([xp.broadcast_to(weight, u.shape), weight * u], axis=-1)
        sums = xp.zeros_like(columns)  # Σ_j w_j K_ij M_ij and Σ_j w_j K_ij M_ij u_j, (config, row, 2)
        for rows, others in self._blocks(u):
            product = _kernel_of_one(u[:, rows], u[:, others])
            product *= prepared.centred(rows, others)
            sums[:, rows] += product @ columns[:, others]
            if rows != others:
                sums[:, others] += xp.matrix_transpose(product) @ columns[:, rows]
        return PairSums(sums[..., 0], u * sums[..., 0] - sums[..., 1])

    def _blocks(self, prediction: AnyArray) -> Iterator[tuple[slice, slice]]:
        configs, rows = prediction.shape
        return _pairs(rows, (self.block or (_NUMBERS if on_cpu(prediction) else _NUMBERS_ON_GPU)) / configs)


def _kernel(rows: AnyArray, others: AnyArray, bandwidth: float) -> AnyArray:
    """Gaussian kernel: (row, k), (other, k) -> (row, other)."""
    xp = namespace(rows)
    squares = (rows**2).sum(1)[:, None] + (others**2).sum(1) - 2 * rows @ others.T
    return xp.exp(xp.clip(squares, min=0.0) * (-0.5 / bandwidth**2))


def _kernel_of_one(rows: AnyArray, others: AnyArray) -> AnyArray:
    """exp(−(u − v)²/2) of one coordinate: (config, row), (config, other) -> (config, row, other)."""
    difference = rows[:, :, None] - others[:, None, :]
    difference *= difference
    difference *= -0.5
    return namespace(difference).exp(difference)


def _pairs(rows: int, numbers: float) -> Iterator[tuple[slice, slice]]:
    """Square blocks of about ``numbers`` pairs of rows on and above the diagonal."""
    size = max(1, int(numbers**0.5))
    parts = [slice(start, min(start + size, rows)) for start in range(0, rows, size)]
    return combinations_with_replacement(parts, 2)


@dataclass(frozen=True)
class CentredFeatures(Prepared):
    """Random features of A, centred and times the row's weight, and the frequencies for f.

    Shapes: features w H Z_A (row, feature of A), frequencies and phases (feature of f,), row_weight (row,).
    """

    features: AnyArray
    frequencies: AnyArray
    phases: AnyArray
    row_weight: AnyArray


@dataclass(frozen=True)
class FeatureHSIC(Penalty):
    r"""HSIC with z(f)ᵀz(f') in place of K and z(a)ᵀz(a') in place of L: O(n D D') per step instead of O(n²).

    .. math:: \mathrm{HSIC} \approx \Big\| \tfrac1n Z_f^\top H Z_A \Big\|_F^2, \qquad
              z(v) = \sqrt{2/D}\, \cos(W v + b), \quad W \sim N(0, \sigma^{-2} I),\; b \sim U[0, 2\pi]

    Parameters
    ----------
    bandwidth, sensitive_bandwidth : as in :class:`HSIC`
    features, sensitive_features_count : D and D'
    """

    bandwidth: float = 1.0
    sensitive_bandwidth: float = 1.0
    features: int = 100
    sensitive_features_count: int = 200

    name: ClassVar[str] = "hsic_features"

    def __post_init__(self) -> None:
        check_positive(bandwidth=self.bandwidth, sensitive_bandwidth=self.sensitive_bandwidth)
        if min(self.features, self.sensitive_features_count) < 1:
            raise InvalidInput("features and sensitive_features_count must be at least 1, such as 100 and 200.")

    def prepare(self, attributes: Attributes, seed: int) -> CentredFeatures:
        random, sensitive, weight = np.random.default_rng(seed), attributes.values, attributes.weight
        bandwidth = self.sensitive_bandwidth * median_distance(sensitive, np.random.default_rng(seed))
        directions = random.standard_normal((sensitive.shape[1], self.sensitive_features_count))
        shifts = random.uniform(0, 2 * np.pi, self.sensitive_features_count)
        waves = np.cos(sensitive @ directions / bandwidth + shifts) * (2 / self.sensitive_features_count) ** 0.5
        centred = (waves - weight @ waves) * weight[:, None]
        frequencies = random.standard_normal(self.features) / self.bandwidth
        return CentredFeatures(centred, frequencies, random.uniform(0, 2 * np.pi, self.features), weight)

    def step(self, prediction: AnyArray, prepared: CentredFeatures, state: None) -> PenaltyStep:
        xp, frequencies, scale = namespace(prediction), prepared.frequencies, (2 / self.features) ** 0.5
        cross: AnyArray = 0.0  # w H Z_A times Z_f, (config, feature of A, feature of f)
        for rows in row_blocks(prediction.shape[1], prediction):
            waves = xp.cos(prediction[:, rows, None] * frequencies + prepared.phases)
            cross = cross + scale * (prepared.features[rows].T @ waves)
        gradient = xp.empty_like(prediction)
        for rows in row_blocks(prediction.shape[1], prediction):
            slopes = xp.sin(prediction[:, rows, None] * frequencies + prepared.phases) * frequencies
            gradient[:, rows] = -2 * scale * (slopes * (prepared.features[rows] @ cross)).sum(-1)
        return PenaltyStep(xp.sum(cross**2, axis=(1, 2)), gradient, curvature=_CURVATURE)

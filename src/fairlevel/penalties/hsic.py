"""HSIC: full dependence between prediction and A, exact, in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import ClassVar

import numpy as np

from fairlevel.arrays import AnyArray, namespace, on_cpu
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.random_features import median_distance
from fairlevel.extras import networks
from fairlevel.penalties.kernel_rows import KernelRows, PairSums, kernel
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS, PenaltyStep, RowPlan, Rows, Settings
from fairlevel.penalties.toolkit import KernelWidths, PenaltyDefaults, check_positive, distinct

_NUMBERS, _NUMBERS_ON_GPU = 2**18, 2**27  # in a block of pairs: within a core's cache, or filling the GPU


@dataclass(frozen=True)
class HSIC(PenaltyDefaults):
    r"""Hilbert–Schmidt independence criterion (Gretton et al., 2005) with Gaussian kernels, biased form.

    .. math:: \mathrm{HSIC} = \tfrac{1}{n^2} \sum_{ij} K_{ij} (HLH)_{ij}, \qquad
              K_{ij} = e^{-(f_i - f_j)^2 / 2 \sigma_f^2}, \qquad L_{ij} = e^{-\|a_i - a_j\|^2 / 2 \sigma_A^2}, \qquad
              \frac{\partial\, \mathrm{HSIC}}{\partial f_i} =
              -\frac{2}{n^2 \sigma_f^2} \sum_j K_{ij} (HLH)_{ij} (f_i - f_j)

    Time O(n²), memory O(n): blocks of pairs are computed anew at each step, each pair once for both of its rows. Zero
    only under independence, so it also forbids differences of spread that DPVar allows.

    Parameters
    ----------
    bandwidth : σ_f in standard deviations of y, fixed, or shrinking f would shrink it too (setting ``bandwidth``)
    sensitive_bandwidth : σ_A as a multiple of the median distance between rows of A (setting ``sensitive_bandwidth``)
    block : numbers in a block of pairs; None for what suits the device
    """

    bandwidth: float = 1.0
    sensitive_bandwidth: float = 1.0
    block: int | None = None
    rows: RowPlan = ALL_TRAINING_ROWS

    name: ClassVar[str] = "hsic"
    tunable: ClassVar[tuple[str, ...]] = ("bandwidth", "sensitive_bandwidth")

    def __post_init__(self) -> None:
        check_positive(bandwidth=self.bandwidth, sensitive_bandwidth=self.sensitive_bandwidth)
        if self.block is not None:
            check_positive(block=self.block)

    def curvature(self, weight: AnyArray) -> AnyArray:
        return 1 + 0.1 * weight  # second derivative in the correlation of a Gaussian pair, against that of the MSE

    def prepare(self, attributes: Attributes, rows: Rows, settings: Settings, seed: int) -> KernelRows:
        known = distinct(self, settings, "sensitive_bandwidth")
        values, weight = attributes.values, attributes.weight
        unit = median_distance(attributes.values, np.random.default_rng(seed))
        row_mean = np.zeros((len(known), len(weight)))
        for rows_, others in _pairs(len(weight), len(known), self.block or _NUMBERS):
            similar = kernel(values[rows_], values[others], known * unit)
            row_mean[:, rows_] += similar @ weight[others]
            if rows_ != others:
                row_mean[:, others] += np.swapaxes(similar, 1, 2) @ weight[rows_]
        return KernelRows(values, known, known * unit, row_mean, row_mean @ weight, weight)

    def init(self, prepared: KernelRows, configs: int, settings: Settings) -> KernelWidths:
        return KernelWidths.of(self, settings, prepared.known, prepared.sensitive, configs)

    def step(self, prediction: AnyArray, prepared: KernelRows, state: KernelWidths) -> PenaltyStep:
        weight = prepared.row_weight
        u = prediction / state.bandwidth[:, None]
        value, slope = self._pair_sums(u, prepared, state)
        return PenaltyStep(value @ weight, -2 * weight * slope / state.bandwidth[:, None], state)

    def value(self, prediction: AnyArray, prepared: KernelRows, state: KernelWidths) -> AnyArray:
        """HSIC less what independence would leave of the biased form, mean(1 − K) mean(1 − L) / n."""
        weight = prepared.row_weight
        scaled = prediction / state.bandwidth[:, None]
        similar = namespace(prediction).zeros_like(prediction[:, 0])
        for rows, others in self._blocks(prediction):
            twice = 1 if rows == others else 2
            similar += twice * (_kernel_of_one(scaled[:, rows], scaled[:, others]) @ weight[others]) @ weight[rows]
        floor = (1 - similar) * (1 - prepared.mean[state.which]) * (weight**2).sum()
        return self.step(prediction, prepared, state).value - floor

    def _pair_sums(self, u: AnyArray, prepared: KernelRows, state: KernelWidths) -> PairSums:
        """The sums over pairs of rows that value and gradient need; u (config, row)."""
        if not on_cpu(u):
            on_gpu = networks("on_gpu.pairs").pairs_on_gpu(u, prepared.sensitive)
            if on_gpu is not None:
                return on_gpu.sums(u, prepared, state.which)  # type: ignore[no-any-return]
        weight, xp = prepared.row_weight, namespace(u)
        columns = xp.stack([xp.broadcast_to(weight, u.shape), weight * u], axis=-1)
        sums = self._products(u, columns, prepared, state)
        both, other = sums[..., 0], sums[..., 1]  # Σ_j w_j K_ij M_ij and Σ_j w_j K_ij M_ij u_j
        return PairSums(both, u * both - other)

    def _products(self, u: AnyArray, columns: AnyArray, prepared: KernelRows, state: KernelWidths) -> AnyArray:
        """(K ∘ HLH) times columns, a block of pairs at a time: columns (config, row, column) -> the same shape."""
        xp = namespace(u)
        result = xp.zeros_like(columns)
        for rows, others in self._blocks(u):
            product = _kernel_of_one(u[:, rows], u[:, others])
            product *= prepared.centred(rows, others)[state.which]
            result[:, rows] += product @ columns[:, others]
            if rows != others:
                result[:, others] += xp.matrix_transpose(product) @ columns[:, rows]
        return result

    def _blocks(self, prediction: AnyArray) -> Iterator[tuple[slice, slice]]:
        configs, rows = prediction.shape
        return _pairs(rows, configs, self.block or (_NUMBERS if on_cpu(prediction) else _NUMBERS_ON_GPU))


def _kernel_of_one(rows: AnyArray, others: AnyArray) -> AnyArray:
    """exp(−(u − v)²/2) of one coordinate: (config, row), (config, other) -> (config, row, other)."""
    difference = rows[:, :, None] - others[:, None, :]
    difference *= difference
    difference *= -0.5
    return namespace(rows).exp(difference)


def _pairs(rows: int, copies: int, numbers: int) -> Iterator[tuple[slice, slice]]:
    """Square blocks of pairs of rows on and above the diagonal; ``copies`` of a block hold about ``numbers``
    numbers.
    """
    size = max(1, int((numbers / copies) ** 0.5))
    parts = [slice(start, min(start + size, rows)) for start in range(0, rows, size)]
    return combinations_with_replacement(parts, 2)

"""HSIC in linear time, through random features of both kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairlevel.arrays import AnyArray, namespace
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.random_features import median_distance
from fairlevel.exceptions import InvalidInput
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS, PenaltyStep, RowPlan, Rows, Settings
from fairlevel.penalties.toolkit import KernelWidths, PenaltyDefaults, Prepared, check_positive, distinct, row_blocks


@dataclass(frozen=True)
class CentredFeatures(Prepared):
    """Random features of A, centred and times the row's weight, for each of several bandwidths, and the frequencies
    for f.

    Shapes: bandwidths (bandwidth,), features w H Z_A (bandwidth, row, feature of A), frequencies and phases (feature of
    f,) at σ_f = 1, row_weight (row,).
    """

    bandwidths: AnyArray
    features: AnyArray
    frequencies: AnyArray
    phases: AnyArray
    row_weight: AnyArray


@dataclass(frozen=True)
class FeatureHSIC(PenaltyDefaults):
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
    rows: RowPlan = ALL_TRAINING_ROWS

    name: ClassVar[str] = "hsic_features"
    tunable: ClassVar[tuple[str, ...]] = ("bandwidth", "sensitive_bandwidth")

    def __post_init__(self) -> None:
        check_positive(bandwidth=self.bandwidth, sensitive_bandwidth=self.sensitive_bandwidth)
        if min(self.features, self.sensitive_features_count) < 1:
            raise InvalidInput("features and sensitive_features_count must be at least 1, such as 100 and 200.")

    def curvature(self, weight: AnyArray) -> AnyArray:
        return 1 + 0.1 * weight

    def prepare(self, attributes: Attributes, rows: Rows, settings: Settings, seed: int) -> CentredFeatures:
        known = distinct(self, settings, "sensitive_bandwidth")
        random, sensitive = np.random.default_rng(seed), attributes.values
        weight = attributes.weight
        unit = median_distance(sensitive, np.random.default_rng(seed))
        directions = random.standard_normal((sensitive.shape[1], self.sensitive_features_count))
        shifts = random.uniform(0, 2 * np.pi, self.sensitive_features_count)
        turns = sensitive @ directions / (known * unit)[:, None, None]
        waves = np.cos(turns + shifts) * (2 / self.sensitive_features_count) ** 0.5
        return CentredFeatures(
            known,
            (waves - (weight @ waves)[:, None]) * weight[:, None],
            random.standard_normal(self.features),
            random.uniform(0, 2 * np.pi, self.features),
            weight,
        )

    def init(self, prepared: CentredFeatures, configs: int, settings: Settings) -> KernelWidths:
        return KernelWidths.of(self, settings, prepared.bandwidths, prepared.row_weight, configs)

    def step(self, prediction: AnyArray, prepared: CentredFeatures, state: KernelWidths) -> PenaltyStep:
        xp = namespace(prediction)
        frequencies = prepared.frequencies / state.bandwidth[:, None, None]
        scale = (2 / self.features) ** 0.5
        cross: AnyArray = 0.0  # w H Z_A times Z_f, (config, feature of A, feature of f)
        for rows in row_blocks(prediction):
            waves = xp.cos(prediction[:, rows, None] * frequencies + prepared.phases)
            features = xp.take(prepared.features[:, rows], state.which, axis=0)
            cross = cross + scale * (xp.matrix_transpose(features) @ waves)
        gradient = xp.empty_like(prediction)
        for rows in row_blocks(prediction):
            slopes = xp.sin(prediction[:, rows, None] * frequencies + prepared.phases) * frequencies
            features = xp.take(prepared.features[:, rows], state.which, axis=0)
            gradient[:, rows] = -2 * scale * (slopes * (features @ cross)).sum(-1)
        return PenaltyStep(xp.sum(cross**2, axis=(1, 2)), gradient, state)

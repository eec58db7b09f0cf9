"""HSIC in linear time, through random features of both kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.random_features import median_distance
from fairlevel.exceptions import InvalidInput
from fairlevel.networks.blocks import row_blocks
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS, PenaltyStep, RowPlan, Rows, Settings
from fairlevel.penalties.toolkit import KernelWidths, PenaltyDefaults, Prepared, check_positive, distinct


@dataclass(frozen=True)
class CentredFeatures(Prepared):
    """Random features of A, centred and times the row's weight, for each of several bandwidths, and the frequencies
    for f.

    Shapes: bandwidths (bandwidth,), features w H Z_A (bandwidth, row, feature of A), frequencies and phases (feature of
    f,) at σ_f = 1, row_weight (row,).
    """

    bandwidths: Tensor
    features: Tensor
    frequencies: Tensor
    phases: Tensor
    row_weight: Tensor


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

    def curvature(self, weight: Tensor) -> Tensor:
        return 1 + 0.1 * weight

    def prepare(self, attributes: Attributes, rows: Rows, settings: Settings, seed: int) -> CentredFeatures:
        known = distinct(self, settings, "sensitive_bandwidth")
        random, sensitive = np.random.default_rng(seed), attributes.values
        weight = torch.from_numpy(attributes.weight)
        unit = median_distance(sensitive, np.random.default_rng(seed))
        directions = torch.from_numpy(random.standard_normal((sensitive.shape[1], self.sensitive_features_count)))
        shifts = torch.from_numpy(random.uniform(0, 2 * np.pi, self.sensitive_features_count))
        turns = torch.from_numpy(sensitive) @ directions / (known * unit)[:, None, None]
        waves = turns.add_(shifts).cos_().mul_((2 / self.sensitive_features_count) ** 0.5)  # in place: rows are many
        return CentredFeatures(
            known,
            waves.sub_((weight @ waves).unsqueeze(1)).mul_(weight.unsqueeze(1)),
            torch.from_numpy(random.standard_normal(self.features)),
            torch.from_numpy(random.uniform(0, 2 * np.pi, self.features)),
            weight,
        )

    def init(self, prepared: CentredFeatures, configs: int, settings: Settings) -> KernelWidths:
        return KernelWidths.of(self, settings, prepared.bandwidths, prepared.row_weight, configs)

    def step(self, prediction: Tensor, prepared: CentredFeatures, state: KernelWidths) -> PenaltyStep:
        frequencies = prepared.frequencies / state.bandwidth[:, None, None]
        scale = (2 / self.features) ** 0.5
        blocks = list(row_blocks(prediction.shape[1], prediction.device))
        cross = prediction.new_zeros(len(prediction), self.sensitive_features_count, self.features)
        for rows in blocks:
            turns = prediction[:, rows, None] * frequencies + prepared.phases
            features = prepared.features[:, rows].index_select(0, state.which)
            cross.baddbmm_(features.transpose(1, 2), turns.cos_(), alpha=scale)
        gradient = torch.empty_like(prediction)
        for rows in blocks:
            turns = prediction[:, rows, None] * frequencies + prepared.phases
            features = prepared.features[:, rows].index_select(0, state.which)
            gradient[:, rows] = (turns.sin_().mul_(frequencies) * torch.bmm(features, cross)).sum(dim=-1)
        return PenaltyStep(cross.square().sum(dim=(1, 2)), gradient.mul_(-2 * scale), state)

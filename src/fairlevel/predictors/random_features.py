"""A linear model on random Fourier features of X."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fairlevel.data.scaling import Scaler
from fairlevel.members.input_map import InputMap
from fairlevel.predictors.network_stack import NetworkFactory, NetworkPredictor


@dataclass(frozen=True)
class RandomFeatures(NetworkPredictor):
    r"""f = b + Σ_d θ_d √2 cos(w_dᵀx + b_d), w_d ~ N(0, σ⁻² I): a kernel machine in feature space.

    ``bandwidth`` multiplies σ, the root mean squared distance between rows of standardised features. Directions whose
    variance is below ``ridge`` times the largest are learnt more slowly: with 1, all but the largest. With much smaller
    numbers noise is learnt as fast as everything else, which few rows do not allow.
    """

    features: int = 300
    bandwidth: float = 1.0
    ridge: float = 1.0

    name: ClassVar[str] = "random_features"
    fixed_features: ClassVar[bool] = True

    def prepare(self, x: Tensor, seed: int, device: torch.device, scaler: Scaler | None = None) -> NetworkFactory:
        standard = InputMap.standardising(scaler)
        generator = torch.Generator().manual_seed(seed)
        spread = max(float(np.sqrt(2 * standard(x.numpy()).astype(np.float64).var(axis=0).sum())), 1e-12)
        draws = torch.randn(x.shape[1], self.features, generator=generator, dtype=torch.float64)
        phases = torch.rand(self.features, generator=generator, dtype=torch.float64) * 2 * torch.pi
        waves = replace(standard, frequencies=(draws / (self.bandwidth * spread)).numpy(), phases=phases.numpy())
        input_map = waves.whitened(x.numpy(), ridge=self.ridge)
        return NetworkFactory.of(input_map, (), x, seed, device)

"""A linear model on random Fourier features of X."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fairlevel.networks.network import Network
from fairlevel.predictors.protocol import InputMap


@dataclass(frozen=True)
class RandomFeatures:
    r"""f = b + Σ_d θ_d √2 cos(w_dᵀx + b_d), w_d ~ N(0, σ⁻² I): a kernel machine in feature space.

    ``bandwidth`` multiplies σ, the root mean squared distance between rows of standardised features. Directions of the
    features below ``ridge`` times the largest are learnt more slowly.
    """

    features: int = 300
    bandwidth: float = 1.0
    ridge: float = 1e-3

    name: ClassVar[str] = "random_features"

    def input_map(self, x: Tensor, seed: int) -> InputMap:
        generator = torch.Generator().manual_seed(seed)
        spread = (2 * x.double().var(dim=0, correction=0).sum()).sqrt().clamp_min(1e-12)
        draws = torch.randn(x.shape[1], self.features, generator=generator, dtype=torch.float64)
        phases = torch.rand(self.features, generator=generator, dtype=torch.float64) * 2 * torch.pi
        return InputMap(draws / (self.bandwidth * spread), phases).whitened(x, ridge=self.ridge)

    def network(self, inputs: int) -> Network:
        return Network(inputs, ())

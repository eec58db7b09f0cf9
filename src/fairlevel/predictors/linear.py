"""A linear predictor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from fairlevel.data.scaling import Scaler
from fairlevel.members.input_map import InputMap
from fairlevel.predictors.network_stack import NetworkFactory, NetworkPredictor


@dataclass(frozen=True)
class Linear(NetworkPredictor):
    r"""f = b + wᵀx, trained in whitened coordinates. Directions whose variance is below ``ridge`` times the largest are
    learnt more slowly, and shrunk more by closed forms: without it, as many columns as rows are fitted to the noise.
    """

    ridge: float = 0.1

    name: ClassVar[str] = "linear"
    fixed_features: ClassVar[bool] = True

    def prepare(self, x: Tensor, seed: int, device: torch.device, scaler: Scaler | None = None) -> NetworkFactory:
        whitened = InputMap.standardising(scaler).whitened(x.numpy(), ridge=self.ridge)
        assert whitened.mixing is not None
        unit = replace(whitened, mixing=whitened.mixing * (1 + self.ridge) ** 0.5)  # the largest has variance 1
        return NetworkFactory.of(unit, (), x, seed, device)

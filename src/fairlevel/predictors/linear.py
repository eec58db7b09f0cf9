"""A linear predictor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fairlevel.data.scaling import Scaler
from fairlevel.members.input_map import InputMap
from fairlevel.predictors.network_stack import NetworkFactory, NetworkPredictor


@dataclass(frozen=True)
class Linear(NetworkPredictor):
    r"""f = b + wᵀx, trained in whitened coordinates."""

    name: ClassVar[str] = "linear"
    fixed_features: ClassVar[bool] = True

    def prepare(self, x: Tensor, seed: int, device: torch.device, scaler: Scaler | None = None) -> NetworkFactory:
        input_map = InputMap.standardising(scaler).whitened(x.numpy(), ridge=0.0)
        return NetworkFactory.of(input_map, (), x, seed, device)

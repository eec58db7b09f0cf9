"""A linear predictor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from fairlevel.networks.network import Network
from fairlevel.predictors.protocol import InputMap


@dataclass(frozen=True)
class Linear:
    r"""f = b + wᵀx, trained in whitened coordinates."""

    name: ClassVar[str] = "linear"

    def input_map(self, x: Tensor, seed: int) -> InputMap:
        return InputMap().whitened(x, ridge=0.0)

    def network(self, inputs: int) -> Network:
        return Network(inputs, ())

"""The paper's predictor: a 2×64 tanh network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from fairlevel.networks.network import Network
from fairlevel.predictors.protocol import InputMap


@dataclass(frozen=True)
class MLP:
    """Fully connected tanh network on the standardised features; ``hidden`` are the widths of its layers."""

    hidden: tuple[int, ...] = (64, 64)

    name: ClassVar[str] = "mlp"

    def input_map(self, x: Tensor, seed: int) -> InputMap:
        return InputMap()

    def network(self, inputs: int) -> Network:
        return Network(inputs, self.hidden)

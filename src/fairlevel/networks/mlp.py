"""The paper's predictor: a 2×64 tanh network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairlevel.arrays import Array
from fairlevel.data.scaling import Scaler
from fairlevel.members.input_map import InputMap
from fairlevel.networks.network_stack import NetworkFactory
from fairlevel.predictors.protocol import Predictor


@dataclass(frozen=True)
class MLP(Predictor):
    """Fully connected tanh network on the standardised features; ``hidden`` are the widths of its layers."""

    hidden: tuple[int, ...] = (64, 64)

    name: ClassVar[str] = "mlp"
    linear_head: ClassVar[bool] = True
    uses_optimizer: ClassVar[bool] = True

    def prepare(self, x: Array, seed: int, device: str, scaler: Scaler | None = None) -> NetworkFactory:
        return NetworkFactory.of(InputMap.standardising(scaler), self.hidden, x, seed, device)

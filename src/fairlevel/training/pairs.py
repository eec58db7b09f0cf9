"""Penalties two configurations at a time, inside larger tiles of networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fairlevel.penalties.protocol import Penalty, PenaltyStep, Settings
from fairlevel.training.grid import PAIR


@dataclass(frozen=True)
class InPairs:
    """A penalty whose products would depend on how many configurations they see, given two of them at a time.

    The networks of a tile are batched products and gain from company; the penalty's arithmetic stays that of a pair,
    bit for bit.
    """

    penalty: Penalty

    def curvature(self, weight: Tensor) -> Tensor:
        """That of the penalty."""
        return self.penalty.curvature(weight)

    def init(self, prepared: Any, configs: int, settings: Settings) -> tuple[Any, ...]:
        """One state a pair."""
        parts = range(0, configs, PAIR)
        return tuple(
            self.penalty.init(prepared, PAIR, {name: value[start : start + PAIR] for name, value in settings.items()})
            for start in parts
        )

    def step(self, prediction: Tensor, prepared: Any, state: tuple[Any, ...]) -> PenaltyStep:
        """Values (config,) and gradients (config, row) of all pairs."""
        parts = zip(torch.split(prediction, PAIR), state, strict=True)
        steps = [self.penalty.step(part, prepared, own) for part, own in parts]
        value, gradient = torch.cat([each.value for each in steps]), torch.cat([each.gradient for each in steps])
        return PenaltyStep(value, gradient, tuple(each.state for each in steps))

    def value(self, prediction: Tensor, prepared: Any, state: tuple[Any, ...]) -> Tensor:
        """Honest values of all pairs, (config,)."""
        parts = zip(torch.split(prediction, PAIR), state, strict=True)
        return torch.cat([self.penalty.value(part, prepared, own) for part, own in parts])

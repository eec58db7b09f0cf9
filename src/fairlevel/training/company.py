"""Penalties a fixed number of configurations at a time, inside larger or smaller tiles of networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fairlevel.penalties.protocol import Penalty, PenaltyStep, Settings


@dataclass(frozen=True)
class InCompany:
    """A penalty whose products would depend on how many configurations they see, given ``size`` of them at a time.

    The last configuration stands in for those that are missing. The penalty's arithmetic is then the same, bit for bit,
    whatever the grid, and what depends on A is read once for all of a group.
    """

    penalty: Penalty
    size: int

    def curvature(self, weight: Tensor) -> Tensor:
        """That of the penalty."""
        return self.penalty.curvature(weight)

    def init(self, prepared: Any, configs: int, settings: Settings) -> tuple[Any, ...]:
        """One state a group."""
        return tuple(
            self.penalty.init(
                prepared, self.size, {name: self._group(value, start) for name, value in settings.items()}
            )
            for start in range(0, configs, self.size)
        )

    def step(self, prediction: Tensor, prepared: Any, state: tuple[Any, ...]) -> PenaltyStep:
        """Values (config,) and gradients (config, row) of all groups."""
        value, gradient, after = prediction.new_empty(len(prediction)), torch.empty_like(prediction), []
        for start, own in zip(range(0, len(prediction), self.size), state, strict=True):
            found = self.penalty.step(self._group(prediction, start), prepared, own)
            real = slice(start, min(start + self.size, len(prediction)))
            value[real], gradient[real] = found.value[: real.stop - start], found.gradient[: real.stop - start]
            after.append(found.state)
        return PenaltyStep(value, gradient, tuple(after))

    def value(self, prediction: Tensor, prepared: Any, state: tuple[Any, ...]) -> Tensor:
        """Honest values of all groups, (config,)."""
        starts = range(0, len(prediction), self.size)
        parts = zip(starts, state, strict=True)
        found = [self.penalty.value(self._group(prediction, start), prepared, own) for start, own in parts]
        return torch.cat(found)[: len(prediction)]

    def _group(self, values: Tensor, start: int) -> Tensor:
        """Those who stand together, (config, …) -> (size, …)."""
        real = values[start : start + self.size]
        missing = self.size - len(real)
        return torch.cat([real, real[-1:].expand(missing, *real.shape[1:])]) if missing else real

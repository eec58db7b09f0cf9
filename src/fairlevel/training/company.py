"""Penalties a fixed number of configurations at a time, inside larger or smaller tiles of networks."""

from __future__ import annotations

from collections.abc import Iterator
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
            self.penalty.init(prepared, self.size, {name: value[index] for name, value in settings.items()})
            for index in self._groups(configs)
        )

    def step(self, prediction: Tensor, prepared: Any, state: tuple[Any, ...]) -> PenaltyStep:
        """Values (config,) and gradients (config, row) of all groups."""
        if len(state) == 1 and len(prediction) == self.size:
            found = self.penalty.step(prediction, prepared, state[0])
            return found._replace(state=(found.state,))
        parts = zip(self._groups(len(prediction)), state, strict=True)
        steps = [self.penalty.step(prediction[index], prepared, own) for index, own in parts]
        value, gradient = torch.cat([each.value for each in steps]), torch.cat([each.gradient for each in steps])
        configs = len(prediction)
        return PenaltyStep(value[:configs], gradient[:configs], tuple(each.state for each in steps))

    def value(self, prediction: Tensor, prepared: Any, state: tuple[Any, ...]) -> Tensor:
        """Honest values of all groups, (config,)."""
        parts = zip(self._groups(len(prediction)), state, strict=True)
        found = [self.penalty.value(prediction[index], prepared, own) for index, own in parts]
        return torch.cat(found)[: len(prediction)]

    def _groups(self, configs: int) -> Iterator[Tensor]:
        """Who stands together: numbers of configurations, (size,) each."""
        for start in range(0, configs, self.size):
            yield torch.arange(start, start + self.size).clamp_max(configs - 1)

"""A penalty bound to the rows that it acts on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from fairlevel.penalties import Penalty
from fairlevel.penalties.protocol import Along, PenaltyStep, Settings
from fairlevel.predictors.protocol import Move


@dataclass(frozen=True)
class BoundPenalty:
    """A penalty, what it prepared for some rows, and which of them carry the accuracy term."""

    penalty: Penalty
    prepared: Any
    accuracy: slice

    def curvature(self, weight: Tensor) -> Tensor:
        """That of the penalty, (config,)."""
        return self.penalty.curvature(weight)

    def init(self, configs: int, settings: Settings) -> Any:
        """The state before the first step."""
        return self.penalty.init(self.prepared, configs, settings)

    def step(self, prediction: Tensor, state: Any, move: Move | None = None) -> PenaltyStep:
        """Value, gradient and next state; prediction (config, row). ``move`` is how predictions have moved since the
        last step, where that is known.
        """
        if move is None or move.along is None:
            return self.penalty.step(prediction, self.prepared, state)
        return self.penalty.step_after(prediction, move.step, move.along, self.prepared, state)

    def along(self, direction: Tensor, value: Tensor, state: Any) -> Along | None:
        """The penalty along a direction, (config, row), where its curvature is known."""
        return self.penalty.along(direction, value, self.prepared, state)

    def value(self, prediction: Tensor, state: Any) -> Tensor:
        """The value on these rows, (config,), with the state of training: critics and trained means as they are."""
        return self.penalty.value(prediction, self.prepared, state)

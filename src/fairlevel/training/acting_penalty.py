"""A penalty bound to the rows it acts on, as the engine calls it: on all rows, or in batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from fairlevel.penalties import Penalty
from fairlevel.penalties.protocol import Along, BatchForm, PenaltyStep, Settings
from fairlevel.predictors.protocol import Move, Tiling
from fairlevel.training.execution.fixed_groups import FixedGroups, in_fixed_groups


class ActingPenalty(Protocol):
    """One interface for both ways of training. ``accuracy`` are the rows of a step that carry the accuracy term."""

    @property
    def accuracy(self) -> slice: ...

    def curvature(self, weight: Tensor) -> Tensor:
        """That of the penalty, (config,)."""

    def init(self, configs: int, settings: Settings) -> Any:
        """The state before the first step."""

    def step(self, prediction: Tensor, window: slice, state: Any, move: Move | None = None) -> PenaltyStep:
        """Value, gradient and next state for the rows of one step; prediction (config, row of the step). ``move`` is
        how predictions have moved since the last step, where that is known.
        """

    def along(self, direction: Tensor, value: Tensor, state: Any) -> Along | None:
        """The penalty along a direction, (config, row), where its curvature is known."""

    def grouped(self, tiling: Tiling, device: torch.device) -> ActingPenalty:
        """Ready for tiles of configurations, which must not influence each other."""

    def value_on(self, held_out: AllRowsPenalty, prediction: Tensor, settings: Settings, state: Any) -> Tensor:
        """The value on held-out rows, (config,), for predictions (config, held-out row)."""

    def training_value(self, prediction: Tensor, state: Any) -> Tensor:
        """The same on the training rows, (config,), where every step sees all of them."""


@dataclass(frozen=True)
class AllRowsPenalty:
    """A penalty and what it prepared for some rows, all of which every step sees."""

    penalty: Penalty | FixedGroups
    prepared: Any
    accuracy: slice

    def curvature(self, weight: Tensor) -> Tensor:
        return self.penalty.curvature(weight)

    def init(self, configs: int, settings: Settings) -> Any:
        return self.penalty.init(self.prepared, configs, settings)

    def step(self, prediction: Tensor, window: slice, state: Any, move: Move | None = None) -> PenaltyStep:
        if move is None or move.along is None:
            return self.penalty.step(prediction, self.prepared, state)
        return self.penalty.step_after(prediction, move.step, move.along, self.prepared, state)

    def along(self, direction: Tensor, value: Tensor, state: Any) -> Along | None:
        return self.penalty.along(direction, value, self.prepared, state)

    def grouped(self, tiling: Tiling, device: torch.device) -> AllRowsPenalty:
        if isinstance(self.penalty, FixedGroups):
            return self
        if tiling.one_by_one and device.type == "cpu":
            prepared = self.penalty.rounding_one_by_one(self.prepared)
            if prepared is not None:
                return replace(self, prepared=prepared)
        return replace(self, penalty=in_fixed_groups(self.penalty, tiling, device))

    def value_on(self, held_out: AllRowsPenalty, prediction: Tensor, settings: Settings, state: Any) -> Tensor:
        """With the state of training: critics and trained means are evaluated as they are."""
        return self.penalty.value(prediction, held_out.prepared, state)

    def training_value(self, prediction: Tensor, state: Any) -> Tensor:
        return self.penalty.value(prediction, self.prepared, state)


@dataclass(frozen=True)
class BatchedPenalty:
    """A penalty and its batch form for the rows of a ring."""

    penalty: Penalty
    form: BatchForm
    accuracy: slice

    def curvature(self, weight: Tensor) -> Tensor:
        return self.penalty.curvature(weight)

    def init(self, configs: int, settings: Settings) -> Any:
        return self.form.init(configs)

    def step(self, prediction: Tensor, window: slice, state: Any, move: Move | None = None) -> PenaltyStep:
        return self.form.step(prediction, window, state)

    def along(self, direction: Tensor, value: Tensor, state: Any) -> Along | None:
        return None

    def grouped(self, tiling: Tiling, device: torch.device) -> BatchedPenalty:
        """As it is: all configurations are in one tile."""
        return self

    def value_on(self, held_out: AllRowsPenalty, prediction: Tensor, settings: Settings, state: Any) -> Tensor:
        """The held-out rows are few: the penalty is evaluated on all of them, without the running moments."""
        return held_out.penalty.value(prediction, held_out.prepared, held_out.init(len(prediction), settings))

    def training_value(self, prediction: Tensor, state: Any) -> Tensor:
        raise TypeError("A step in batches sees a part of the training rows.")

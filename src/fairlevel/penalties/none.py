"""No penalty: what training without sensitive attributes uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS, Along, BatchAttributes, PenaltyStep, RowPlan, Rows, Settings
from fairlevel.penalties.toolkit import PenaltyDefaults, Prepared


@dataclass(frozen=True)
class Nothing(Prepared):
    """What a penalty without state prepares."""


@dataclass(frozen=True)
class NoPenalty(PenaltyDefaults):
    """Zero everywhere: plain training."""

    rows: RowPlan = ALL_TRAINING_ROWS

    name: ClassVar[str] = "none"
    within_factors: ClassVar[bool] = True
    group_size: ClassVar[int | None] = None

    def curvature(self, weight: Tensor) -> Tensor:
        return torch.ones_like(weight)

    def prepare(self, attributes: Attributes, rows: Rows, settings: Settings, seed: int) -> Nothing:
        return Nothing()

    def step(self, prediction: Tensor, prepared: Nothing, state: None) -> PenaltyStep:
        return PenaltyStep(prediction.new_zeros(len(prediction)), torch.zeros_like(prediction), None)

    def along(self, direction: Tensor, value: Tensor, prepared: Nothing, state: None) -> Along:
        return Along(direction.new_zeros(len(direction)))

    def in_batches(self, attributes: BatchAttributes) -> NothingInBatches:
        return NothingInBatches()


@dataclass(frozen=True)
class NothingInBatches:
    """Zero for every batch."""

    def init(self, configs: int) -> None:
        return None

    def step(self, prediction: Tensor, window: slice, state: None) -> PenaltyStep:
        return PenaltyStep(prediction.new_zeros(len(prediction)), torch.zeros_like(prediction), None)

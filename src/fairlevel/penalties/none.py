"""No penalty: what training without sensitive attributes uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS, PenaltyStep, RowPlan, Rows, Settings


@dataclass(frozen=True)
class Nothing:
    """What a penalty without state prepares."""

    def to(self, dtype: torch.dtype, device: torch.device | str) -> Nothing:
        return self


@dataclass(frozen=True)
class NoPenalty:
    """Zero everywhere: plain training."""

    rows: RowPlan = ALL_TRAINING_ROWS

    name: ClassVar[str] = "none"
    tunable: ClassVar[tuple[str, ...]] = ()
    company: ClassVar[int | None] = None
    quadratic: ClassVar[bool] = True

    def curvature(self, weight: Tensor) -> Tensor:
        return torch.ones_like(weight)

    def prepare(self, attributes: Attributes, rows: Rows, settings: Settings, seed: int) -> Nothing:
        return Nothing()

    def init(self, prepared: Nothing, configs: int, settings: Settings) -> None:
        return None

    def step(self, prediction: Tensor, prepared: Nothing, state: None) -> PenaltyStep:
        return PenaltyStep(prediction.new_zeros(len(prediction)), torch.zeros_like(prediction), None)

    def value(self, prediction: Tensor, prepared: Nothing, state: None) -> Tensor:
        return prediction.new_zeros(len(prediction))

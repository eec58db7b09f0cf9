"""No penalty: what training without sensitive attributes uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairlevel.arrays import AnyArray, namespace
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS, Along, PenaltyStep, RowPlan, Rows, Settings
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

    def curvature(self, weight: AnyArray) -> AnyArray:
        return namespace(weight).ones_like(weight)

    def prepare(self, attributes: Attributes, rows: Rows, settings: Settings, seed: int) -> Nothing:
        return Nothing()

    def step(self, prediction: AnyArray, prepared: Nothing, state: None) -> PenaltyStep:
        zeros = namespace(prediction).zeros_like(prediction)
        return PenaltyStep(zeros[:, 0], zeros, None)

    def along(self, direction: AnyArray, value: AnyArray, prepared: Nothing, state: None) -> Along:
        return Along(namespace(direction).zeros_like(direction[:, 0]))

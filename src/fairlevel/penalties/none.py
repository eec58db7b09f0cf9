"""No penalty: what training without sensitive attributes uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairlevel.arrays import AnyArray, namespace
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.penalties.protocol import Penalty, PenaltyStep, Prepared


@dataclass(frozen=True)
class Nothing(Prepared):
    """What a penalty without state prepares."""

    within_factors: ClassVar[bool] = True


@dataclass(frozen=True)
class NoPenalty(Penalty):
    """Zero everywhere: plain training."""

    name: ClassVar[str] = "none"

    def prepare(self, attributes: Attributes, seed: int) -> Nothing:
        return Nothing()

    def step(self, prediction: AnyArray, prepared: Nothing, state: None) -> PenaltyStep:
        zeros = namespace(prediction).zeros_like(prediction)
        return PenaltyStep(zeros[:, 0], zeros, curvature=0.0)

    def along(self, direction: AnyArray, last: PenaltyStep, prepared: Nothing) -> AnyArray:
        return last.value

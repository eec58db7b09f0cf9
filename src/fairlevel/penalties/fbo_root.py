"""The root of DPVar: how many units of y the average prediction moves, as a penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.penalties.fbo_closed import ClosedFBO, Level
from fairlevel.penalties.protocol import SMALLEST_SD, PenaltyStep


@dataclass(frozen=True)
class RootFBO(ClosedFBO):
    r"""Closed-form FBO on a scale where the pull does not fade as DPVar shrinks.

    .. math:: Q_c = \sqrt{P_c + s^2} - s, \qquad
              \frac{\partial Q_c}{\partial f_{ci}} = \frac{1}{2\sqrt{P_c + s^2}}\frac{\partial P_c}{\partial f_{ci}}

    with P the penalty of :class:`ClosedFBO` and s = 0.05, below which predictions count as constant.
    """

    name: ClassVar[str] = "fbo_root"

    @property
    def quadratic(self) -> bool:
        return False

    def curvature(self, weight: Tensor) -> Tensor:
        return 1 + weight / (2 * SMALLEST_SD)

    def step(self, prediction: Tensor, prepared: LinearSmoother, state: Level) -> PenaltyStep:
        value, gradient, state = super().step(prediction, prepared, state)
        root = (value.clamp(min=0) + SMALLEST_SD**2).sqrt()
        return PenaltyStep(root - SMALLEST_SD, gradient / (2 * root).unsqueeze(-1), state)

    def value(self, prediction: Tensor, prepared: LinearSmoother, state: Level) -> Tensor:
        return (super().value(prediction, prepared, state).clamp(min=0) + SMALLEST_SD**2).sqrt() - SMALLEST_SD

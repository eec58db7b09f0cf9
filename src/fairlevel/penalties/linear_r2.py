"""Linear dependence: the part of the prediction's variance that a linear regression on A explains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairlevel.arrays import AnyArray, namespace
from fairlevel.conditional_mean import RidgeMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel.penalties.protocol import Penalty, PenaltyStep
from fairlevel.penalties.smoothing import PenaltySmoother
from fairlevel.penalties.toolkit import SMALLEST_SD


@dataclass(frozen=True)
class LinearR2(Penalty):
    r"""R² of the prediction on A, with a ridge.

    .. math:: P_c = \frac{1}{n V_c} f_c^\top S_\lambda f_c, \qquad V_c = \operatorname{Var} f_c, \qquad
              \frac{\partial P_c}{\partial f_c} = \frac{2}{n V_c} \big(S_\lambda f_c - P_c f_c\big), \qquad
              S_\lambda = A (A^\top A + n \lambda I)^{-1} A^\top

    with f and A centred; within legitimate factors, both less what the factors explain. Spreads of f below 0.05
    standard deviations of y count as 0.05. The explained variance itself, with V = 1, is
    ``ClosedFBO(RidgeMean(ridge))``. Linear: f = A² is invisible to it.

    Parameters
    ----------
    ridge : λ
    """

    ridge: float = 1e-3

    name: ClassVar[str] = "r2"

    def __post_init__(self) -> None:
        if isinstance(self.ridge, str) or not 0 <= self.ridge < float("inf"):
            raise InvalidInput(f"ridge={self.ridge} was given; a finite number ≥ 0 is needed, such as 0.001.")

    def prepare(self, attributes: Attributes, seed: int) -> PenaltySmoother:
        return PenaltySmoother.of(RidgeMean().prepare(attributes, seed=seed), self.ridge)

    def step(self, prediction: AnyArray, prepared: PenaltySmoother, state: None) -> PenaltyStep:
        centred = prepared.beyond_nuisance(prediction)
        smoothed = prepared.smoothed(centred)
        scale, varies = _scale(centred, prepared.row_weight)
        value = (centred * smoothed) @ prepared.row_weight / scale
        direction = smoothed - (varies * value)[:, None] * centred
        return PenaltyStep(value, 2 * prepared.row_weight * direction / scale[:, None])

    def value(self, prediction: AnyArray, prepared: PenaltySmoother, state: None) -> AnyArray:
        """With the leave-one-out mean in place of the fitted one: zero on average where A says nothing."""
        scale, _ = _scale(prepared.beyond_nuisance(prediction), prepared.row_weight)
        return prepared.leave_out_covariance(prediction) / scale


def _scale(centred: AnyArray, row_weight: AnyArray) -> tuple[AnyArray, AnyArray]:
    """V, and 1 where it moves with the prediction, else 0; each (config,)."""
    xp, variance = namespace(centred), centred**2 @ row_weight
    return xp.clip(variance, min=SMALLEST_SD**2), xp.astype(variance > SMALLEST_SD**2, variance.dtype)

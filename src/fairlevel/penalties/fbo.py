"""FBO as printed in the paper (Algorithms 1–3): a trained inner network and the closed-form adjoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fairlevel.conditional_mean import MLPMean
from fairlevel.conditional_mean.inner_losses import InnerLoss, Squared
from fairlevel.penalties.protocol import (
    IN_OUT,
    Array,
    PenaltyStep,
    RowPlan,
    Rows,
    Settings,
    check_inner,
    check_mean,
    setting,
)
from fairlevel.penalties.trained_mean import SplitAttributes, Warm, fresh, spread

_CURVATURE_RIDGE = 0.1


@dataclass(frozen=True)
class FBO:
    r"""Functional bilevel optimisation: M gradient steps of h_φ on IN, then the hypergradient of Proposition 3.1.

    .. math:: g_i = \tfrac{2}{n_{in}} \big(h_\phi(a_i) - \hat\mu\big),\; i \in \mathrm{IN}, \qquad
              \hat\mu = \tfrac{1}{n_{out}} \sum_{j \in \mathrm{OUT}} h_\phi(a_j)

    OUT rows carry the accuracy term. With another inner ``loss`` the gradient gains the factor ρ''/E[ρ''|A].

    Parameters
    ----------
    inner_steps : M, gradient steps on φ before each outer step
    inner_learning_rate : η_in, one number or one a configuration (setting ``inner_learning_rate``)
    mean : architecture of h_φ
    loss : what h minimises
    rows : IN/OUT as printed
    """

    inner_steps: int = 10
    inner_learning_rate: float = 0.1
    mean: MLPMean = MLPMean()
    loss: InnerLoss = Squared()
    rows: RowPlan = IN_OUT

    name: ClassVar[str] = "fbo"
    tunable: ClassVar[tuple[str, ...]] = ("inner_learning_rate",)
    quadratic: ClassVar[bool] = False  # h moves with the training

    def __post_init__(self) -> None:
        check_mean(self.mean, MLPMean, "MLPMean()")
        check_inner(self.inner_steps, self.inner_learning_rate)

    def curvature(self, weight: Tensor) -> Tensor:
        return torch.ones_like(weight)  # as printed: plain step sizes

    def prepare(
        self, sensitive: Array, rows: Rows, settings: Settings, seed: int, sample_weight: Array | None = None
    ) -> SplitAttributes:
        return SplitAttributes.of(sensitive, rows, seed, sample_weight)

    def init(self, prepared: SplitAttributes, configs: int, settings: Settings) -> Warm:
        rate = setting(self, settings, "inner_learning_rate", prepared.fit, configs)
        return fresh(self.mean, prepared, configs, rate)

    def step(self, prediction: Tensor, prepared: SplitAttributes, state: Warm) -> PenaltyStep:
        inner = prediction[:, prepared.rows.fit]
        parameters = self.mean.descend(
            state.parameters, prepared.fit, inner, prepared.fit_weight, state.learning_rate, self.inner_steps, self.loss
        )
        level = self.mean.predict(parameters, prepared.fit)
        outside = self.mean.predict(parameters, prepared.evaluate)
        mean_level = (outside * prepared.evaluate_weight).sum(dim=-1, keepdim=True)
        following = self.loss.following(inner - level, lambda values: prepared.smoother.apply(values, _CURVATURE_RIDGE))
        gradient = torch.zeros_like(prediction)
        gradient[:, prepared.rows.fit] = 2 * prepared.fit_weight * (level - mean_level) * following
        return PenaltyStep(spread(outside, prepared.evaluate_weight), gradient, Warm(parameters, state.learning_rate))

    def value(self, prediction: Tensor, prepared: SplitAttributes, state: Warm) -> Tensor:
        return spread(self.mean.predict(state.parameters, prepared.evaluate), prepared.evaluate_weight)

"""ITD as printed in the paper: differentiate through unrolled inner steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fairlevel.conditional_mean import MLPMean
from fairlevel.conditional_mean.inner_losses import InnerLoss, Squared
from fairlevel.exceptions import InvalidInput
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


@dataclass(frozen=True)
class ITD:
    r"""Iterative differentiation: M plain inner steps, then K steps whose effect on Var h is differentiated.

    .. math:: \tilde\phi^{(k+1)} = \tilde\phi^{(k)} - \eta_{in} \nabla_\phi \hat L_{in}(f, \tilde\phi^{(k)}), \qquad
              g = \partial_{f_{in}} \widehat{\operatorname{Var}}_{\mathrm{OUT}}\big(h_{\tilde\phi^{(K)}}(a)\big)

    The graph holds the n_in predictions and the inner network only; it never enters the predictor.

    Parameters
    ----------
    steps : K, unrolled steps; the cost is linear in K
    inner_steps : M, warm steps before them
    inner_learning_rate : η_in, one number or one a configuration
    mean : architecture of h_φ
    loss : any smooth inner loss
    """

    steps: int = 5
    inner_steps: int = 10
    inner_learning_rate: float = 0.1
    mean: MLPMean = MLPMean()
    loss: InnerLoss = Squared()
    rows: RowPlan = IN_OUT

    name: ClassVar[str] = "itd"
    tunable: ClassVar[tuple[str, ...]] = ("inner_learning_rate",)
    quadratic: ClassVar[bool] = False  # h moves with the training

    def __post_init__(self) -> None:
        check_mean(self.mean, MLPMean, "MLPMean()")
        check_inner(self.inner_steps, self.inner_learning_rate)
        if not isinstance(self.steps, int) or self.steps < 1:
            raise InvalidInput(
                f"steps={self.steps} was given; at least one unrolled step is needed, such as ITD(steps=5)."
            )

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
        rate, loss = state.learning_rate, self.loss
        inner = prediction[:, prepared.rows.fit].detach()
        warm = self.mean.descend(
            state.parameters, prepared.fit, inner, prepared.fit_weight, rate, self.inner_steps, loss
        )
        with torch.enable_grad():
            inner = inner.requires_grad_()
            unrolled = self.mean.descend(warm, prepared.fit, inner, prepared.fit_weight, rate, self.steps, loss)
            value = spread(self.mean.predict(unrolled, prepared.evaluate), prepared.evaluate_weight)
            (pulled,) = torch.autograd.grad(value.sum(), inner)
        gradient = torch.zeros_like(prediction)
        gradient[:, prepared.rows.fit] = pulled
        return PenaltyStep(value.detach(), gradient, Warm(warm, rate))

    def value(self, prediction: Tensor, prepared: SplitAttributes, state: Warm) -> Tensor:
        return spread(self.mean.predict(state.parameters, prepared.evaluate), prepared.evaluate_weight)

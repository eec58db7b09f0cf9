"""ITD as printed in the paper: differentiate through unrolled inner steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fairlevel.exceptions import InvalidInput
from fairlevel.penalties.protocol import PenaltyStep
from fairlevel.penalties.trained_mean import SplitAttributes, TrainedMeanPenalty, Warm, spread


@dataclass(frozen=True)
class ITD(TrainedMeanPenalty):
    r"""Iterative differentiation: M plain inner steps, then K steps whose effect on Var h is differentiated.

    .. math:: \tilde\phi^{(k+1)} = \tilde\phi^{(k)} - \eta_{in} \nabla_\phi \hat L_{in}(f, \tilde\phi^{(k)}), \qquad
              g = \partial_{f_{in}} \widehat{\operatorname{Var}}_{\mathrm{OUT}}\big(h_{\tilde\phi^{(K)}}(a)\big)

    The graph holds the n_in predictions and the inner network only; it never enters the predictor. The cost is linear
    in K. Parameters: ``steps`` (K), ``inner_steps`` (M), ``inner_learning_rate`` (η_in), ``mean``, ``loss``, ``rows``.
    """

    steps: int = 5

    name: ClassVar[str] = "itd"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.steps, int) or self.steps < 1:
            raise InvalidInput(
                f"steps={self.steps} was given; at least one unrolled step is needed, such as ITD(steps=5)."
            )

    def step(self, prediction: Tensor, prepared: SplitAttributes, state: Warm) -> PenaltyStep:
        """Algorithm 2, mode ITD."""
        inner = prediction[:, prepared.rows.fit].detach()
        warm = self.descended(inner, prepared, state)
        with torch.enable_grad():
            inner = inner.requires_grad_()
            parameters = self.unrolled(warm, inner, prepared, state.learning_rate, self.steps)
            value = spread(self.mean.predict(parameters, prepared.evaluate), prepared.evaluate_weight)
            (pulled,) = torch.autograd.grad(value.sum(), inner)
        gradient = torch.zeros_like(prediction)
        gradient[:, prepared.rows.fit] = pulled
        return PenaltyStep(value.detach(), gradient, Warm(warm, state.learning_rate))

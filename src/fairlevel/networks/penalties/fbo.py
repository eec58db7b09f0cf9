"""FBO as printed in the paper (Algorithms 1–3): a trained inner network and the closed-form adjoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fairlevel.networks.backend import on_tensors
from fairlevel.networks.penalties.trained_mean import SplitAttributes, TrainedMeanPenalty, spread
from fairlevel.penalties.protocol import PenaltyStep


@dataclass(frozen=True)
class FBO(TrainedMeanPenalty):
    r"""Functional bilevel optimisation: M gradient steps of h_φ on IN, then the hypergradient of Proposition 3.1.

    .. math:: g_i = \tfrac{2}{n_{in}} \big(h_\phi(a_i) - \hat\mu\big),\; i \in \mathrm{IN}, \qquad
              \hat\mu = \tfrac{1}{n_{out}} \sum_{j \in \mathrm{OUT}} h_\phi(a_j)

    OUT rows carry the accuracy term. With another inner ``loss`` the gradient gains the factor ρ''/E[ρ''|A].
    Parameters: ``inner_steps`` (M), ``inner_learning_rate`` (η_in), ``mean``, ``loss``, ``rows``.
    """

    name: ClassVar[str] = "fbo"

    @on_tensors
    def step(self, prediction: Tensor, prepared: SplitAttributes, state: Tensor | None) -> PenaltyStep:
        """Algorithm 2, mode FBO."""
        inner = prediction[:, prepared.fit_rows]
        parameters = self.descended(inner, prepared, state)
        fitted = self.mean.predict(parameters, prepared.fit)
        outside = self.mean.predict(parameters, prepared.evaluate)
        mean_fitted = (outside * prepared.evaluate_weight).sum(dim=-1, keepdim=True)
        gradient_in = 2 * prepared.fit_weight * (fitted - mean_fitted)
        if self.loss.passes > 1:
            gradient_in = gradient_in * self.loss.relative_curvature(inner - fitted, prepared.smoother.apply)
        gradient = torch.zeros_like(prediction)
        gradient[:, prepared.fit_rows] = gradient_in
        return PenaltyStep(spread(outside, prepared.evaluate_weight), gradient, parameters)

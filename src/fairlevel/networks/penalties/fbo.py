"""FBO as printed in the paper (Algorithms 1–3): a trained inner network and the closed-form adjoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fairlevel.networks.backend import on_tensors
from fairlevel.networks.penalties.trained_mean import SplitAttributes, TrainedMeanPenalty, Warm, spread
from fairlevel.penalties.protocol import PenaltyStep

_CURVATURE_RIDGE = 0.1


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
    def step(self, prediction: Tensor, prepared: SplitAttributes, state: Warm) -> PenaltyStep:
        """Algorithm 2, mode FBO."""
        inner = prediction[:, prepared.rows.fit]
        parameters = self.descended(inner, prepared, state)
        fitted = self.mean.predict(parameters, prepared.fit)
        outside = self.mean.predict(parameters, prepared.evaluate)
        mean_fitted = (outside * prepared.evaluate_weight).sum(dim=-1, keepdim=True)
        ridge = torch.full_like(mean_fitted[:, 0], _CURVATURE_RIDGE)
        relative_curvature = self.loss.relative_curvature(
            inner - fitted, lambda values: prepared.smoother.apply(values, ridge)
        )
        gradient = torch.zeros_like(prediction)
        gradient[:, prepared.rows.fit] = 2 * prepared.fit_weight * (fitted - mean_fitted) * relative_curvature
        return PenaltyStep(spread(outside, prepared.evaluate_weight), gradient, Warm(parameters, state.learning_rate))

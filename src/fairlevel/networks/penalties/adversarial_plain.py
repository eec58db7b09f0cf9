"""Adversarial debiasing with neither a normalised input nor a bounded penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fairlevel.networks.backend import on_tensors
from fairlevel.networks.penalties.adversarial import Adversarial, CriticRows
from fairlevel.networks.penalties.trained_critic import CriticState
from fairlevel.penalties.protocol import PenaltyStep


@dataclass(frozen=True)
class PlainAdversarial(Adversarial):
    r"""The predictor minimises its error minus the critic's, as adversarial debiasing is usually written.

    .. math:: L_A = \tfrac{1}{n k} \sum_i \|a_i - g(f_i)\|^2, \qquad P = L_A^{const} - L_A

    The critic sees f as it is, and P has no lower bound: a critic that does worse than the constant is rewarded, so
    that f may diverge. Parameters as in ``Adversarial``.
    """

    name: ClassVar[str] = "adversarial_plain"

    @on_tensors
    def step(self, prediction: Tensor, prepared: CriticRows, state: CriticState | None) -> PenaltyStep:
        if prepared.spread == 0:
            return PenaltyStep(torch.zeros_like(prediction[:, 0]), torch.zeros_like(prediction))
        after = self.trained(prediction, prepared, state)
        loss, gradient = self.loss(prediction, prepared, after)
        return PenaltyStep(prepared.spread - loss, -gradient, after)

    @on_tensors
    def value(self, prediction: Tensor, prepared: CriticRows, state: CriticState | None) -> Tensor:
        """What the present critic explains."""
        if prepared.spread == 0:
            return torch.zeros_like(prediction[:, 0])
        return prepared.spread - self.loss(prediction, prepared, state).loss

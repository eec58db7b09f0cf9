"""Log-loss, for targets 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, special
from torch.nn.functional import softplus

from fairlevel.losses.protocol import LossStep


@dataclass(frozen=True)
class Logistic:
    r"""ℓ(s, y) = log(1 + eˢ) − y s; users see the probability p = 1 / (1 + e⁻ˢ), and penalties act on p."""

    name: ClassVar[str] = "logistic"
    quadratic: ClassVar[bool] = False

    def value(self, score: Tensor, target: Tensor, row_weight: Tensor) -> Tensor:
        return ((softplus(score) - target * score) * row_weight).sum(dim=-1)

    def step(self, score: Tensor, target: Tensor, row_weight: Tensor) -> LossStep:
        return LossStep(self.value(score, target, row_weight), (score.sigmoid() - target) * row_weight)

    def curvature(self, score: Tensor, target: Tensor, row_weight: Tensor) -> Tensor:
        probability = score.sigmoid()
        return probability * (1 - probability) * row_weight

    def of_constant(self, target: Tensor, row_weight: Tensor) -> float:
        """The entropy of the share of ones."""
        share = ((target * row_weight).sum() / row_weight.sum()).double().clamp(0, 1)
        return float(special.entr(share) + special.entr(1 - share))

    def link(self, score: Tensor) -> Tensor:
        return score.sigmoid()

    def through_link(self, score: Tensor, gradient: Tensor) -> Tensor:
        probability = score.sigmoid()
        return gradient * probability * (1 - probability)

"""Squared error, for regression on a standardised target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from fairlevel.losses.protocol import LossStep


@dataclass(frozen=True)
class SquaredLoss:
    r"""ℓ(s, y) = (s − y)²; the score is the prediction."""

    link_function: ClassVar[None] = None
    name: ClassVar[str] = "squared"
    figure: ClassVar[str] = "mse"
    quadratic: ClassVar[bool] = True

    def value(self, score: Tensor, target: Tensor, row_weight: Tensor) -> Tensor:
        return ((score - target).square() * row_weight).sum(dim=-1)

    def step(self, score: Tensor, target: Tensor, row_weight: Tensor) -> LossStep:
        residual = score - target
        weighted = residual * row_weight
        return LossStep((residual * weighted).sum(dim=-1), 2 * weighted)

    def curvature(self, score: Tensor, target: Tensor, row_weight: Tensor) -> Tensor:
        return (2 * row_weight).expand_as(score)

    def of_constant(self, target: Tensor, row_weight: Tensor) -> float:
        """1, the variance of a standardised target."""
        return 1.0

    def link(self, score: Tensor) -> Tensor:
        return score

    def through_link(self, score: Tensor, gradient: Tensor) -> Tensor:
        return gradient

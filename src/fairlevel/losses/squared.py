"""Squared error, for regression on a standardised target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairlevel.arrays import AnyArray, namespace
from fairlevel.losses.protocol import LossStep


@dataclass(frozen=True)
class SquaredLoss:
    r"""ℓ(s, y) = (s − y)²; the score is the prediction."""

    link_function: ClassVar[None] = None
    name: ClassVar[str] = "squared"
    figure: ClassVar[str] = "mse"
    quadratic: ClassVar[bool] = True

    def value(self, score: AnyArray, target: AnyArray, row_weight: AnyArray) -> AnyArray:
        residual = score - target
        return (residual * residual) @ row_weight

    def step(self, score: AnyArray, target: AnyArray, row_weight: AnyArray) -> LossStep:
        residual = score - target
        return LossStep((residual * residual) @ row_weight, 2 * residual * row_weight)

    def curvature(self, score: AnyArray, target: AnyArray, row_weight: AnyArray) -> AnyArray:
        return namespace(score).broadcast_to(2 * row_weight, score.shape)

    def of_constant(self, target: AnyArray, row_weight: AnyArray) -> float:
        """1, the variance of a standardised target."""
        return 1.0

    def link(self, score: AnyArray) -> AnyArray:
        return score

    def through_link(self, score: AnyArray, gradient: AnyArray) -> AnyArray:
        return gradient

"""Squared error, for regression on a standardised target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairlevel.arrays import AnyArray, namespace
from fairlevel.links import IDENTITY, IdentityLink


@dataclass(frozen=True)
class SquaredLoss:
    r"""ℓ(s, y) = (s − y)²; the score is the prediction."""

    link: ClassVar[IdentityLink] = IDENTITY
    figure: ClassVar[str] = "mse"
    quadratic: ClassVar[bool] = True

    def value(self, score: AnyArray, target: AnyArray, row_weight: AnyArray) -> AnyArray:
        residual = score - target
        return (residual * residual) @ row_weight

    def gradient(self, score: AnyArray, target: AnyArray, row_weight: AnyArray) -> AnyArray:
        return 2 * (score - target) * row_weight

    def curvature(self, score: AnyArray, target: AnyArray, row_weight: AnyArray) -> AnyArray:
        return namespace(score).broadcast_to(2 * row_weight, score.shape)

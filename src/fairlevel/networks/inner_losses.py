r"""Losses ρ(f − h) that define the conditional "mean": the ordinary one, a robust one, a quantile.

For the inner problem min_h E ρ(f − h(A)) each loss knows its slope; the response that one least-squares pass should
smooth (majorise–minimise: with curvature at most L, smoothing h + ρ'(f − h)/L never increases the loss); and how
strongly h depends on each row, ρ''(f − h) / E[ρ''(f − h) | A], which is the closed-form adjoint for any pointwise loss
(docs/derivations.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fairlevel.exceptions import InvalidInput

_LEAST_RELATIVE_CURVATURE = 0.05  # a smoothed curvature below this share of its average is an artefact of smoothing


class InnerLoss(ABC):
    """A smooth convex loss of the residual f − h; all tensors are (config, row)."""

    passes: ClassVar[int]
    """Majorise–minimise passes per training step, warm-started."""

    @property
    @abstractmethod
    def largest_curvature(self) -> float:
        """The largest curvature L."""

    @abstractmethod
    def slope(self, residual: Tensor) -> Tensor:
        """ρ'."""

    @abstractmethod
    def curvature(self, residual: Tensor) -> Tensor:
        """ρ''."""

    def response(self, prediction: Tensor, fitted: Tensor) -> Tensor:
        """What one least-squares pass smooths."""
        return fitted + self.slope(prediction - fitted) / self.largest_curvature

    def relative_curvature(self, residual: Tensor, smooth: Callable[[Tensor], Tensor]) -> Tensor:
        """How strongly h(a_i) depends on f_i relative to other rows of the same profile: ρ'' / E[ρ''|A]."""
        curvature = self.curvature(residual)
        smoothed = smooth(curvature)
        return curvature / torch.maximum(smoothed, _LEAST_RELATIVE_CURVATURE * smoothed.mean(dim=-1, keepdim=True))

    def disparity(self, prediction: Tensor, centred_mean: Tensor, row_weight: Tensor) -> Tensor:
        """The penalty's value, Var h(A): (config,)."""
        return (centred_mean.square() * row_weight).sum(dim=-1)


@dataclass(frozen=True)
class Squared(InnerLoss):
    r"""ρ(r) = r²: h is the conditional mean; one pass solves it and all rows have the same influence."""

    passes: ClassVar[int] = 1

    @property
    def largest_curvature(self) -> float:
        return 2.0

    def slope(self, residual: Tensor) -> Tensor:
        return 2 * residual

    def curvature(self, residual: Tensor) -> Tensor:
        return torch.full_like(residual, 2.0)

    def response(self, prediction: Tensor, fitted: Tensor) -> Tensor:
        return prediction

    def relative_curvature(self, residual: Tensor, smooth: Callable[[Tensor], Tensor]) -> Tensor:
        return residual.new_ones(())

    def disparity(self, prediction: Tensor, centred_mean: Tensor, row_weight: Tensor) -> Tensor:
        """The covariance form mean(f (h − μ)), whose exact gradient FBO follows; equal to Var h when S is a
        projection.
        """
        return (prediction * centred_mean * row_weight).sum(dim=-1)


@dataclass(frozen=True)
class Huber(InnerLoss):
    r"""Pseudo-Huber, ρ(r) = 2δ²(√(1 + (r/δ)²) − 1): quadratic near 0, linear far away; h is a robust conditional mean.

    ``delta`` is in units of the standardised target.
    """

    delta: float = 0.5

    passes: ClassVar[int] = 4

    def __post_init__(self) -> None:
        _positive("delta", self.delta)

    @property
    def largest_curvature(self) -> float:
        return 2.0

    def slope(self, residual: Tensor) -> Tensor:
        return 2 * residual / (1 + (residual / self.delta).square()).sqrt()

    def curvature(self, residual: Tensor) -> Tensor:
        return 2 * (1 + (residual / self.delta).square()).pow(-1.5)


@dataclass(frozen=True)
class Pinball(InnerLoss):
    r"""Smoothed pinball loss, ρ'(r) = τ − σ(−r/b): h tends to the conditional τ-quantile as the width b → 0.

    ``width`` is in units of the standardised target.
    """

    quantile: float = 0.5
    width: float = 0.1

    passes: ClassVar[int] = 10

    def __post_init__(self) -> None:
        _positive("width", self.width)
        if not 0 < self.quantile < 1:
            raise InvalidInput(f"quantile={self.quantile} was given; a number between 0 and 1 is needed, such as 0.5.")

    @property
    def largest_curvature(self) -> float:
        return 1 / (4 * self.width)

    def slope(self, residual: Tensor) -> Tensor:
        return self.quantile - torch.sigmoid(-residual / self.width)

    def curvature(self, residual: Tensor) -> Tensor:
        tail = torch.sigmoid(-residual / self.width)
        return tail * (1 - tail) / self.width


def _positive(name: str, value: float) -> None:
    if not value > 0:
        raise InvalidInput(f"{name}={value} was given; a positive number is needed, such as 0.1.")

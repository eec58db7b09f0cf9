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

from fairlevel.arrays import AnyArray, namespace
from fairlevel.exceptions import InvalidInput

_LEAST_RELATIVE_CURVATURE = 0.05  # a smoothed curvature below this share of its average is an artefact of smoothing


class InnerLoss(ABC):
    """A smooth convex loss of the residual f − h; all arrays are (config, row)."""

    passes: ClassVar[int]
    """Majorise–minimise passes per training step, which start from the h of the last one."""

    @abstractmethod
    def slope(self, residual: AnyArray) -> AnyArray:
        """ρ'."""

    @abstractmethod
    def curvature(self, residual: AnyArray) -> AnyArray:
        """ρ''."""

    @abstractmethod
    def response(self, prediction: AnyArray, fitted: AnyArray) -> AnyArray:
        """What one least-squares pass smooths, h + ρ'(f − h) / L."""

    def relative_curvature(self, residual: AnyArray, smooth: Callable[[AnyArray], AnyArray]) -> AnyArray:
        """How strongly h(a_i) depends on f_i relative to other rows of the same profile: ρ'' / E[ρ''|A]."""
        curvature = self.curvature(residual)
        smoothed = smooth(curvature)
        average = smoothed.mean(-1)[:, None]
        return curvature / namespace(smoothed).maximum(smoothed, _LEAST_RELATIVE_CURVATURE * average)


@dataclass(frozen=True)
class Squared(InnerLoss):
    r"""ρ(r) = r²: h is the conditional mean; one pass solves it and all rows have the same influence."""

    passes: ClassVar[int] = 1

    def slope(self, residual: AnyArray) -> AnyArray:
        return 2 * residual

    def curvature(self, residual: AnyArray) -> AnyArray:
        return namespace(residual).full_like(residual, 2.0)

    def response(self, prediction: AnyArray, fitted: AnyArray) -> AnyArray:
        return prediction

    def relative_curvature(self, residual: AnyArray, smooth: Callable[[AnyArray], AnyArray]) -> AnyArray:
        return namespace(residual).ones_like(residual)


@dataclass(frozen=True)
class Huber(InnerLoss):
    r"""Pseudo-Huber, ρ(r) = 2δ²(√(1 + (r/δ)²) − 1): quadratic near 0, linear far away; h is a robust conditional mean.

    ``delta`` is in units of the standardised target.
    """

    delta: float = 0.5

    passes: ClassVar[int] = 4

    def __post_init__(self) -> None:
        _check_positive("delta", self.delta)

    def slope(self, residual: AnyArray) -> AnyArray:
        return 2 * residual / (1 + (residual / self.delta) ** 2) ** 0.5

    def curvature(self, residual: AnyArray) -> AnyArray:
        return 2 * (1 + (residual / self.delta) ** 2) ** -1.5

    def response(self, prediction: AnyArray, fitted: AnyArray) -> AnyArray:
        return fitted + self.slope(prediction - fitted) / 2


@dataclass(frozen=True)
class Pinball(InnerLoss):
    r"""Smoothed pinball loss, ρ'(r) = τ − σ(−r/b): h tends to the conditional τ-quantile as the width b → 0.

    ``width`` is in units of the standardised target.
    """

    quantile: float = 0.5
    width: float = 0.1

    passes: ClassVar[int] = 10

    def __post_init__(self) -> None:
        _check_positive("width", self.width)
        if not 0 < self.quantile < 1:
            raise InvalidInput(f"quantile={self.quantile} was given; a number between 0 and 1 is needed, such as 0.5.")

    def slope(self, residual: AnyArray) -> AnyArray:
        return self.quantile - self._tail(residual)

    def curvature(self, residual: AnyArray) -> AnyArray:
        tail = self._tail(residual)
        return tail * (1 - tail) / self.width

    def response(self, prediction: AnyArray, fitted: AnyArray) -> AnyArray:
        return fitted + 4 * self.width * self.slope(prediction - fitted)

    def _tail(self, residual: AnyArray) -> AnyArray:
        """σ(−r/b)."""
        return 0.5 - 0.5 * namespace(residual).tanh(0.5 * residual / self.width)


def _check_positive(name: str, value: float) -> None:
    if not value > 0:
        raise InvalidInput(f"{name}={value} was given; a positive number is needed, such as 0.1.")

"""Losses: how far scores are from targets, and how scores become what users see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from fairlevel.arrays import AnyArray, Array, namespace
from fairlevel.data.scaling import Scaler
from fairlevel.links import IDENTITY, IdentityLink, LogisticLink


class Loss(Protocol):
    """A weighted sum over rows, Σ_i w_i ℓ(s_i, y_i) with Σw = 1, whose best constant score is 0.

    A learner produces scores s. Users see link(s), and penalties act on link(s); generalised linear models call this
    the inverse link. Shapes: score (config, row), target and row_weight (row,). ``figure`` is what the loss is called
    in tables, such as "mse". ``quadratic`` says whether ℓ is a quadratic function of s, and the link the identity.
    """

    figure: ClassVar[str]
    quadratic: ClassVar[bool]

    @property
    def link(self) -> IdentityLink:
        """From scores to what users see."""

    def value(self, score: AnyArray, target: AnyArray, row_weight: AnyArray) -> AnyArray:
        """The loss, (config,)."""

    def gradient(self, score: AnyArray, target: AnyArray, row_weight: AnyArray) -> AnyArray:
        """Its derivative in each score, (config, row)."""

    def curvature(self, score: AnyArray, target: AnyArray, row_weight: AnyArray) -> AnyArray:
        """Its second derivative in each score, (config, row)."""


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


@dataclass(frozen=True)
class Logistic:
    r"""ℓ(s, y) = log(1 + eᵘ) − y u with u = s + offset and y ∈ {0, 1}: the score 0 stands for the share of ones.

    The target arrives standardised like that of a regression, t = (y − centre) / scale, and the link gives the
    probability p in the same units, (p − centre) / scale: penalties act on it as on any prediction, and ``weight`` has
    no unit. The defaults leave targets and probabilities as they are.

    Parameters
    ----------
    link : offset, centre and scale
    """

    link: LogisticLink = LogisticLink()

    figure: ClassVar[str] = "log_loss"
    quadratic: ClassVar[bool] = False

    @classmethod
    def of(cls, target: Array, row_weight: Array | None = None) -> Logistic:
        """For targets 0 and 1, (row,), both of which occur."""
        scaler = Scaler.fit(target, row_weight)
        share = float(scaler.mean)
        return cls(LogisticLink(float(np.log(share / (1 - share))), share, float(scaler.scale)))

    def _labels(self, target: AnyArray) -> AnyArray:
        return self.link.centre + self.link.scale * target

    def value(self, score: AnyArray, target: AnyArray, row_weight: AnyArray) -> AnyArray:
        xp = namespace(score)
        shifted = score + self.link.offset
        softplus = xp.log1p(xp.exp(-xp.abs(shifted))) + xp.clip(shifted, min=0.0)
        return (softplus - self._labels(target) * shifted) @ row_weight

    def gradient(self, score: AnyArray, target: AnyArray, row_weight: AnyArray) -> AnyArray:
        return (self.link.probability(score) - self._labels(target)) * row_weight

    def curvature(self, score: AnyArray, target: AnyArray, row_weight: AnyArray) -> AnyArray:
        probability = self.link.probability(score)
        return probability * (1 - probability) * row_weight

"""Log-loss, for targets of two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import entr

from fairlevel.arrays import AnyArray, Array, namespace, numpy_array
from fairlevel.data.scaling import Scaler
from fairlevel.links import LogisticLink
from fairlevel.losses.protocol import LossStep


@dataclass(frozen=True)
class Logistic:
    r"""ℓ(s, y) = log(1 + eᵘ) − y u with u = s + offset and y ∈ {0, 1}: the score 0 stands for the share of ones.

    The target arrives standardised like that of a regression, t = (y − centre) / scale, and the link gives the
    probability p in the same units, (p − centre) / scale: penalties act on it as on any prediction, and ``weight`` has
    no unit. The defaults leave targets and probabilities as they are.

    Parameters
    ----------
    link_function : offset, centre and scale
    """

    link_function: LogisticLink = LogisticLink()

    name: ClassVar[str] = "logistic"
    figure: ClassVar[str] = "log_loss"
    quadratic: ClassVar[bool] = False

    @classmethod
    def of(cls, target: Array, row_weight: Array | None = None) -> Logistic:
        """For targets 0 and 1, (row,), both of which occur."""
        scaler = Scaler.fit(target, row_weight)
        share = float(scaler.mean)
        return cls(LogisticLink(float(np.log(share / (1 - share))), share, float(scaler.scale)))

    def _labels(self, target: AnyArray) -> AnyArray:
        return self.link_function.centre + self.link_function.scale * target

    def value(self, score: AnyArray, target: AnyArray, row_weight: AnyArray) -> AnyArray:
        xp = namespace(score)
        shifted = score + self.link_function.offset
        softplus = xp.log1p(xp.exp(-xp.abs(shifted))) + xp.clip(shifted, min=0.0)
        return (softplus - self._labels(target) * shifted) @ row_weight

    def step(self, score: AnyArray, target: AnyArray, row_weight: AnyArray) -> LossStep:
        residual = self.link_function.probability(score) - self._labels(target)
        return LossStep(self.value(score, target, row_weight), residual * row_weight)

    def curvature(self, score: AnyArray, target: AnyArray, row_weight: AnyArray) -> AnyArray:
        probability = self.link_function.probability(score)
        return probability * (1 - probability) * row_weight

    def of_constant(self, target: AnyArray, row_weight: AnyArray) -> float:
        """The entropy of the share of ones."""
        ones, weight = (numpy_array(values).astype(np.float64) for values in (self._labels(target), row_weight))
        share = np.clip((ones @ weight) / weight.sum(), 0, 1)
        return float(entr(share) + entr(1 - share))

    def link(self, score: AnyArray) -> AnyArray:
        return self.link_function(score)

    def through_link(self, score: AnyArray, gradient: AnyArray) -> AnyArray:
        probability = self.link_function.probability(score)
        return gradient * probability * (1 - probability) / self.link_function.scale

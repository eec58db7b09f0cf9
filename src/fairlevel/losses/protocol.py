"""The contract of a loss: how far scores are from targets, and how scores become what users see."""

from __future__ import annotations

from typing import ClassVar, Protocol

from fairlevel.arrays import AnyArray
from fairlevel.links import IdentityLink


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

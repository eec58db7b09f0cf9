"""The contract of a loss: how far scores are from targets, and how scores become what users see."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from fairlevel.arrays import AnyArray
from fairlevel.links import LogisticLink


class LossStep(NamedTuple):
    """Shapes: value (config,), gradient in the scores (config, row)."""

    value: AnyArray
    gradient: AnyArray


@runtime_checkable
class Loss(Protocol):
    """A weighted sum over rows, Σ_i w_i ℓ(s_i, y_i) with Σw = 1.

    A learner produces scores s. Users see link(s), and penalties act on link(s); generalised linear models call this
    the inverse link. Shapes: score (config, row), target and row_weight (row,). ``figure`` is what the loss is called
    in tables, such as "mse". ``quadratic`` says whether ℓ is a quadratic function of s, and the link the identity.
    """

    name: ClassVar[str]
    figure: ClassVar[str]
    quadratic: ClassVar[bool]

    @property
    def link_function(self) -> LogisticLink | None:
        """The link as an object, for files; None for the identity."""

    def value(self, score: AnyArray, target: AnyArray, row_weight: AnyArray) -> AnyArray:
        """The loss, (config,)."""

    def step(self, score: AnyArray, target: AnyArray, row_weight: AnyArray) -> LossStep:
        """The loss and its gradient in the scores."""

    def curvature(self, score: AnyArray, target: AnyArray, row_weight: AnyArray) -> AnyArray:
        """Second derivative in each score, (config, row)."""

    def of_constant(self, target: AnyArray, row_weight: AnyArray) -> float:
        """The loss of the best constant score."""

    def link(self, score: AnyArray) -> AnyArray:
        """What users see of a score, (config, row)."""

    def through_link(self, score: AnyArray, gradient: AnyArray) -> AnyArray:
        """A gradient in link(s) as a gradient in s: the chain rule, (config, row)."""

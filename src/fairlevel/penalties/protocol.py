"""The contract of a penalty: a map from predictions to a value and a gradient in prediction space.

Predictions are arrays of NumPy, or tensors of PyTorch where networks are trained; a penalty that is written with the
functions of :func:`fairlevel.arrays.namespace` serves both. A penalty never sees X, and ``step`` never sees y.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

from fairlevel.arrays import AnyArray, Array, Backend, namespace, on_backend
from fairlevel.conditional_mean.attributes import Attributes


class PenaltyStep(NamedTuple):
    """Shapes: value (config,), gradient (config, row). ``state`` is handed to the next step. ``curvature`` is about how
    large second derivatives of the penalty are, as a multiple of those of the squared error.
    """

    value: AnyArray
    gradient: AnyArray
    state: Any = None
    curvature: float = 1.0


class Prepared:
    """What a penalty prepares from A, for subclasses that are frozen dataclasses of arrays in float64.

    ``within_factors`` says whether rows are compared within legitimate factors: what these explain is then no
    disparity. ``accuracy`` are the rows that carry the accuracy term beside the penalty.
    """

    within_factors: ClassVar[bool] = False

    @property
    def accuracy(self) -> slice:
        return slice(None)

    def to(self, backend: Backend) -> Self:
        """A copy with the floating arrays where a training has its own."""
        return on_backend(self, backend)


class Penalty(ABC):
    """One frozen dataclass per method; ``name``, ``prepare`` and ``step`` are all that it needs."""

    name: ClassVar[str]

    def tuned(self, attributes: Attributes, target: Array, seed: int) -> Self:
        """Itself with numbers that are chosen from the standardised target, (row,), once and before training."""
        return self

    @abstractmethod
    def prepare(self, attributes: Attributes, seed: int) -> Any:
        """All that depends on A, as a :class:`Prepared`; attributes are standardised."""

    @abstractmethod
    def step(self, prediction: AnyArray, prepared: Any, state: Any) -> PenaltyStep:
        """Value and gradient at predictions (config, row); ``state`` is that of the last step, None at the first."""

    def value(self, prediction: AnyArray, prepared: Any, state: Any) -> AnyArray:
        """The value on rows that did not train, without the bias of fitting on them, (config,); no state changes."""
        return self.step(prediction, prepared, state).value

    def along(self, direction: AnyArray, last: PenaltyStep, prepared: Any) -> AnyArray | None:
        """The second derivative, (config,), along a direction of predictions, (config, row), of a parabola that touches
        the penalty where the last step was taken and is nowhere below it; None where it is not known.
        """
        return None


@dataclass(frozen=True)
class Nothing(Prepared):
    """What a penalty without state prepares."""

    within_factors: ClassVar[bool] = True


@dataclass(frozen=True)
class NoPenalty(Penalty):
    """Zero everywhere: plain training."""

    name: ClassVar[str] = "none"

    def prepare(self, attributes: Attributes, seed: int) -> Nothing:
        return Nothing()

    def step(self, prediction: AnyArray, prepared: Nothing, state: None) -> PenaltyStep:
        zeros = namespace(prediction).zeros_like(prediction)
        return PenaltyStep(zeros[:, 0], zeros, curvature=0.0)

    def along(self, direction: AnyArray, last: PenaltyStep, prepared: Nothing) -> AnyArray:
        return last.value

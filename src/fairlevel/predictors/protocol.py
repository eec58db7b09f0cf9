"""The contract of a predictor: something that follows a gradient in prediction space.

A predictor never sees A or y. From features, configurations and a seed it makes a *learner*, which trains one model
per configuration. What a learner leaves behind are *members*: fitted functions of the features, in
:mod:`fairlevel.members`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from fairlevel.arrays import AnyArray, Array, Backend, Flags, Index
from fairlevel.data.scaling import Scaler
from fairlevel.exceptions import InvalidInput
from fairlevel.members import Members


@dataclass(frozen=True)
class Configurations:
    """The numbers in which the members of a grid differ: penalty weight and step size, each (config,); ``steps`` says
    after how many steps each one ends, (config,), where that is known before training.
    """

    weight: Array
    learning_rate: Array
    steps: Index | None = None

    @classmethod
    def of(cls, weight: Sequence[float] | Array, learning_rate: float | Sequence[float] | Array) -> Configurations:
        """Step sizes are repeated to the length of ``weight``."""
        weights = np.atleast_1d(np.asarray(weight, dtype=np.float64))
        if not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise InvalidInput(f"weight={weights.tolist()} was given; finite numbers ≥ 0 are needed, such as 1.0.")
        rates = np.broadcast_to(np.asarray(learning_rate, dtype=np.float64), weights.shape)
        return cls(weights, rates.copy())

    def __len__(self) -> int:
        return len(self.weight)

    def tiles(self, size: int) -> Iterator[Configurations]:
        """Groups of at most ``size``."""
        for start in range(0, len(self), size):
            part = slice(start, start + size)
            steps = None if self.steps is None else self.steps[part]
            yield Configurations(self.weight[part], self.learning_rate[part], steps)


class Curvature(Protocol):
    """What a learner may ask about the objective around the last predictions, beyond its gradient."""

    @property
    def bound(self) -> AnyArray:
        """About how large its second derivatives are, in units of those of the loss, (config,): steps of a fixed size
        are divided by it.
        """

    @property
    def row_count(self) -> float:
        """How many rows the objective is an average over: the sum of their weights."""

    def of_rows(self) -> AnyArray:
        """Second derivative of the loss in each prediction, (config, row)."""

    def step_along(self, direction: AnyArray, rate: float, slope: AnyArray = 0.0, bend: AnyArray = 0.0) -> AnyArray:
        """How far to go along a direction of predictions, (config, row), between 0 and ``rate``, (config,): where the
        objective is quadratic, ``rate`` times the step that minimises it, else a step that does not raise it. A term of
        the learner's own, such as a ridge, is told by its ``slope`` and second derivative ``bend`` along the direction,
        each (config,).
        """


class Learner(ABC):
    """One model per configuration, in training."""

    def forward(self, inputs: AnyArray) -> AnyArray:
        """Predictions (config, row) for the training rows; what :meth:`follow` needs is kept."""
        return self.predict(inputs)

    @abstractmethod
    def predict(self, inputs: AnyArray) -> AnyArray:
        """Predictions alone, (config, row), for any rows, (row, …); nothing is kept."""

    @abstractmethod
    def follow(self, gradient: AnyArray, curvature: Curvature) -> None:
        """One step against a gradient in the last predictions of :meth:`forward`, (config, row)."""

    @abstractmethod
    def snapshot(self, which: Flags) -> None:
        """Remember the present state of some configurations, (config,) of booleans."""

    def finish(self, which: Flags) -> None:  # noqa: B027
        """Some configurations, (config,) of booleans, have ended: they will return to their last snapshots, and need
        not be trained any further. Where all take their steps together, that saves nothing.
        """

    @abstractmethod
    def restore(self) -> None:
        """Return every configuration to its last snapshot."""

    @abstractmethod
    def model(self) -> Members:
        """All configurations as they are now."""


class Tiling(NamedTuple):
    """How a grid is trained: how many configurations together, and in how many threads side by side."""

    size: int
    threads: int = 1


class LearnerFactory(ABC):
    """What a predictor has prepared from the features of the training rows.

    ``backend`` is where its learners train. ``patience`` is after how many checks without a better score, ten steps
    apart, early stopping ends. ``grows`` says whether training starts from a constant and each step adds to it: the
    constant is then evaluated on held-out rows, too, and may be chosen.
    """

    backend: Backend
    patience: ClassVar[int] = 25
    grows: ClassVar[bool] = False

    @abstractmethod
    def steps(self, optimizer: Any) -> int:
        """How many steps a full training takes."""

    @abstractmethod
    def inputs(self, x: Array) -> AnyArray:
        """Rows as the learner reads them: (row, feature) -> (row, …). A learner is only asked about such rows."""

    def tiling(self, rows: int, configs: int) -> Tiling:
        """How many configurations are trained together; all of them unless it says otherwise."""
        return Tiling(configs)

    @abstractmethod
    def learner(self, configurations: Configurations, optimizer: Any) -> Learner:
        """A learner before its first step; called when :meth:`inputs` has seen all rows."""


class Predictor(ABC):
    """One frozen dataclass per kind of model, with its settings; it is :class:`Members` that predict.

    ``native`` says whether it reads gaps (NaN) and categories (whole numbers); such a predictor has a field
    ``categorical`` for the numbers of those columns. ``linear_head`` says whether its members have one, as those of
    networks have, ``fixed_features`` whether training leaves what that head reads as it is, ``uses_optimizer`` whether
    it reads anything of the optimiser.
    """

    name: ClassVar[str]
    native: ClassVar[bool] = False
    linear_head: ClassVar[bool] = False
    fixed_features: ClassVar[bool] = False
    uses_optimizer: ClassVar[bool] = False

    @abstractmethod
    def prepare(self, x: Array, seed: int, device: str, scaler: Scaler | None = None) -> LearnerFactory:
        """Prepare on training rows, (row, feature), as given. ``scaler`` standardises features, for predictors that
        need it; None where they are standardised already. Members read features as given. ``device`` is what the user
        asked for: "auto", "cpu" or "cuda".
        """

    def choices(self) -> Sequence[Predictor]:
        """Itself with the settings that held-out rows may choose, the usual ones first."""
        return (self,)

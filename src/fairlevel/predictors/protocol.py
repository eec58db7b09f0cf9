"""The contract of a predictor: something that follows a gradient in prediction space.

A predictor never sees A or y. From features, configurations and a seed it makes a *learner*, which trains one model
per configuration. What a learner leaves behind are *members*: fitted functions of the features, in
:mod:`fairlevel.members`.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from fairlevel.arrays import AnyArray, Array, Backend, Flags
from fairlevel.data.scaling import Scaler
from fairlevel.members import Members
from fairlevel.predictors.configurations import Configurations


class Move(NamedTuple):
    """How far to go along a direction t: ``step``, (config,); ``along`` is what the penalty has computed along t, which
    makes its next step cheaper.
    """

    step: AnyArray
    along: Any = None


class Parabola(NamedTuple):
    """A term of a learner's own along a direction, such as a ridge: slope and second derivative, each (config,)."""

    slope: AnyArray
    curvature: AnyArray


class LocalObjective(Protocol):
    """The objective around the last predictions, for learners that use more of it than its gradient."""

    @property
    def row_count(self) -> float:
        """How many rows the objective is an average over: the sum of their weights."""

    def row_curvature(self) -> AnyArray:
        """Second derivative of the loss in each prediction, (config, row)."""

    def step_along(self, direction: AnyArray, rate: float, beside: Parabola | None = None) -> Move:
        """How far to go along a direction of predictions, (config, row), between 0 and ``rate``: where the objective
        is quadratic, ``rate`` times the step that minimises it, else a step that does not raise it. ``beside`` counts
        as a part of the objective.
        """


class Learner(Protocol):
    """One model per configuration, in training."""

    @property
    def changing(self) -> tuple[AnyArray, ...] | None:
        """The arrays that a step changes in place; None where a step cannot be recorded and replayed."""

    @property
    def grows(self) -> bool:
        """Whether training starts from a constant and each step adds to it. The constant is then also evaluated on
        held-out rows, and may be chosen.
        """

    def predictions(self, inputs: AnyArray) -> AnyArray:
        """Predictions (config, row) for inputs (row, …); what :meth:`follow` needs is kept."""

    def follow(self, gradient: AnyArray, curvature: AnyArray, objective: LocalObjective) -> Move | None:
        """One step against a gradient in the last predictions, (config, row). ``curvature``, (config,), bounds the
        second derivative of the objective, in units of that of the loss; ``objective`` tells more, if asked. A learner
        whose predictions have moved exactly as ``objective`` said gives that move back, and the next gradient costs
        less; others give None.
        """

    def evaluate(self, inputs: AnyArray) -> AnyArray:
        """Predictions alone, (config, row); nothing is kept."""

    def snapshot(self, which: Flags) -> None:
        """Remember the present state of some configurations, (config,) of booleans."""

    def finish(self, which: Flags) -> None:
        """Some configurations, (config,) of booleans, have ended: they will return to their last snapshots, and need
        not be trained any further.
        """

    def restore(self) -> None:
        """Return every configuration to its last snapshot."""

    def model(self) -> Members:
        """All configurations as they are now."""


class Tiling(NamedTuple):
    """How a grid is trained: how many configurations together, and in how many threads side by side."""

    size: int
    threads: int = 1


PATIENCE = 25
"""The patience of learners that take small steps, in checks."""


class LearnerFactory(Protocol):
    """What a predictor has prepared from the features of the training rows."""

    @property
    def backend(self) -> Backend:
        """Where its learners train."""

    @property
    def patience(self) -> int:
        """After how many checks without a better score, ten steps apart, early stopping ends."""

    def steps(self, optimizer: Any) -> int:
        """How many steps a full training takes."""

    def inputs(self, x: Array) -> AnyArray:
        """Rows as the learner reads them: (row, feature) -> (row, …). A learner is only asked about such rows."""

    def tiling(self, rows: int, configs: int) -> Tiling:
        """How many configurations are trained together."""

    def learner(self, configurations: Configurations, optimizer: Any) -> Learner:
        """A learner before its first step; called when :meth:`inputs` has seen all rows."""


@runtime_checkable
class Predictor(Protocol):
    """One frozen object per kind of model, with its settings; it is :class:`Members` that predict.

    ``native`` says whether it reads gaps (NaN) and categories (whole numbers); such a predictor has a field
    ``categorical`` for the numbers of those columns. ``linear_head`` says whether its members have one, as those of
    networks have, ``fixed_features`` whether training leaves what that head reads as it is, ``uses_optimizer`` whether
    it reads anything of the optimiser.
    """

    name: ClassVar[str]
    native: ClassVar[bool]
    linear_head: ClassVar[bool]
    fixed_features: ClassVar[bool]
    uses_optimizer: ClassVar[bool]

    def prepare(self, x: Array, seed: int, device: str, scaler: Scaler | None = None) -> LearnerFactory:
        """Prepare on training rows, (row, feature), as given. ``scaler`` standardises features, for predictors that
        need it; None where they are standardised already. Members read features as given. ``device`` is what the user
        asked for: "auto", "cpu" or "cuda".
        """


@runtime_checkable
class Choosable(Protocol):
    """A predictor that may leave settings open for held-out rows to choose."""

    def choices(self) -> tuple[Predictor, ...]:
        """Itself with the settings that may be chosen, the usual ones first; only itself where none are open."""

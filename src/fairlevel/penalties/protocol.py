"""The contract of a penalty: a map from predictions to a value and a gradient in prediction space.

Predictions are arrays of NumPy, or tensors of PyTorch where networks are trained; a penalty that is written with the
functions of :func:`fairlevel.arrays.namespace` serves both.

A penalty never sees X. ``step`` never sees y, either; before training, ``tuned`` may read the target once. What depends
on A alone is prepared once. Numbers that differ between configurations (``settings``) enter the state. A step takes the
state and returns the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from fairlevel.arrays import AnyArray, Array
from fairlevel.conditional_mean.attributes import Attributes

Settings = Mapping[str, Array]
"""Numbers that differ between configurations, each (config,)."""


@dataclass(frozen=True)
class Rows:
    """Which training rows fit the conditional mean, which evaluate it, which carry the accuracy term."""

    fit: slice
    evaluate: slice
    accuracy: slice


@dataclass(frozen=True)
class RowPlan:
    """How a penalty uses the two halves of the training rows; IN rows come first. ``name`` describes it where a penalty
    is printed or saved.
    """

    name: str
    fit_on_in: bool
    accuracy_on_out: bool

    def assign(self, rows_in: int, rows: int) -> Rows:
        """The plan for ``rows`` rows of which the first ``rows_in`` are IN."""
        everything, first, second = slice(0, rows), slice(0, rows_in), slice(rows_in, rows)
        return Rows(
            fit=first if self.fit_on_in else everything,
            evaluate=second if self.fit_on_in else everything,
            accuracy=second if self.accuracy_on_out else everything,
        )


ALL_TRAINING_ROWS = RowPlan("all rows", fit_on_in=False, accuracy_on_out=False)
IN_OUT = RowPlan("IN fits the mean, OUT carries accuracy", fit_on_in=True, accuracy_on_out=True)
IN_OUT_ALL_LABELS = RowPlan("IN fits the mean, all rows carry accuracy", fit_on_in=True, accuracy_on_out=False)


class PenaltyStep(NamedTuple):
    """Shapes: value (config,), gradient (config, row)."""

    value: AnyArray
    gradient: AnyArray
    state: Any


class Along(NamedTuple):
    """A penalty along a direction t of predictions. ``curvature``, (config,), is the second derivative of a quadratic
    function that touches the penalty at the last predictions and is nowhere below it. ``products`` are what the penalty
    computed from t and can use again after a move along it.
    """

    curvature: AnyArray
    products: Any = None


@runtime_checkable
class Penalty(Protocol):
    """One frozen object per method. ``tunable`` names the numbers that may differ between configurations;
    ``within_factors`` says whether legitimate factors are understood: what they explain is then no disparity.
    """

    name: ClassVar[str]
    tunable: ClassVar[tuple[str, ...]]
    within_factors: ClassVar[bool]

    @property
    def rows(self) -> RowPlan:
        """Which rows it fits on, and which carry the accuracy term beside it."""

    def curvature(self, weight: AnyArray) -> AnyArray:
        """By how much weight · penalty may multiply the curvature of the loss, (config,)."""

    def tuned(self, attributes: Attributes, target: Array, seed: int) -> Penalty:
        """Itself with numbers that are chosen from the standardised target, (row,), once and before training."""

    def prepare(self, attributes: Attributes, rows: Rows, settings: Settings, seed: int) -> Any:
        """All that depends on A, in float64, as a :class:`fairlevel.penalties.toolkit.Prepared`; attributes are
        standardised.
        """

    def init(self, prepared: Any, configs: int, settings: Settings) -> Any:
        """The state before the first step."""

    def step(self, prediction: AnyArray, prepared: Any, state: Any) -> PenaltyStep:
        """Value and gradient at these predictions, (config, row), and the state for the next step."""

    def along(self, direction: AnyArray, value: AnyArray, prepared: Any, state: Any) -> Along | None:
        """The penalty along a direction, (config, row), from the last predictions, where it has this value, (config,).
        None where no curvature is known.
        """

    def step_after(self, prediction: AnyArray, move: AnyArray, along: Along, prepared: Any, state: Any) -> PenaltyStep:
        """What :meth:`step` gives, for predictions that are those of the last step plus move · t: ``move`` is
        (config,), ``along`` that of the direction t, ``state`` that after the last step.
        """

    def value(self, prediction: AnyArray, prepared: Any, state: Any) -> AnyArray:
        """The value on rows that did not train, without the bias of fitting on them, (config,); no state changes."""

"""What a penalty is: a map from predictions to a value and a gradient in prediction space.

A penalty never sees X or y. What depends on A alone is prepared once; numbers that vary from configuration to
configuration (``settings``) enter the state; a step takes the state and gives it back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput, InvalidType, UnknownName

Settings = Mapping[str, Tensor]
"""Numbers that differ between configurations, each (config,)."""


@dataclass(frozen=True)
class Rows:
    """Which training rows fit the conditional mean, which evaluate it, which carry accuracy."""

    fit: slice
    evaluate: slice
    accuracy: slice


@dataclass(frozen=True)
class RowPlan:
    """How a penalty uses the two halves of the training rows; IN rows come first."""

    name: str
    fit_on_in: bool
    accuracy_on_out: bool

    def assign(self, rows_in: int, rows: int) -> Rows:
        everything, first, second = slice(0, rows), slice(0, rows_in), slice(rows_in, rows)
        return Rows(
            fit=first if self.fit_on_in else everything,
            evaluate=second if self.fit_on_in else everything,
            accuracy=second if self.accuracy_on_out else everything,
        )


ALL_TRAINING_ROWS = RowPlan("all rows", fit_on_in=False, accuracy_on_out=False)
IN_OUT = RowPlan("IN fits the mean, OUT carries accuracy", fit_on_in=True, accuracy_on_out=True)
IN_OUT_ALL_LABELS = RowPlan("IN fits the mean, all rows carry accuracy", fit_on_in=True, accuracy_on_out=False)


class Prepared(Protocol):
    """Whatever a penalty computed from A; it moves to a device and a precision."""

    def to(self, dtype: torch.dtype, device: torch.device | str) -> Prepared: ...


class PenaltyStep(NamedTuple):
    """Shapes: value (config,), gradient (config, row)."""

    value: Tensor
    gradient: Tensor
    state: Any


@runtime_checkable
class Penalty(Protocol):
    """One object per method; frozen.

    ``tunable`` names the numbers that may vary over a grid. ``company`` is how many configurations a step must see on a
    CPU for its numbers not to depend on the grid: None where it uses batched products alone, 8 where it reads something
    of A that is shared by all of them, 2 where more would cost more.
    """

    name: ClassVar[str]
    tunable: ClassVar[tuple[str, ...]]
    company: ClassVar[int | None]

    @property
    def rows(self) -> RowPlan: ...

    @property
    def quadratic(self) -> bool:
        """Whether the penalty is one fixed quadratic form of the predictions."""

    def curvature(self, weight: Tensor) -> Tensor:
        """By how much the penalty may multiply the curvature of the loss, (config,); the engine divides the loss by
        it.
        """

    def prepare(self, attributes: Attributes, rows: Rows, settings: Settings, seed: int) -> Any:
        """All that depends on A, in float64. Shapes: sensitive (row, attribute), standardised."""

    def init(self, prepared: Any, configs: int, settings: Settings) -> Any:
        """The state before the first step."""

    def step(self, prediction: Tensor, prepared: Any, state: Any) -> PenaltyStep:
        """Value and gradient at these predictions, (config, row), and the state for the next step."""

    def value(self, prediction: Tensor, prepared: Any, state: Any) -> Tensor:
        """An honest value on rows that did not train, (config,); nothing changes."""


def setting(penalty: Any, settings: Settings, name: str, like: Tensor, configs: int) -> Tensor:
    """The number called ``name`` for each configuration: from the settings, else the penalty's own."""
    if name in settings:
        return settings[name].to(like)
    return like.new_full((configs,), float(getattr(penalty, name)))


def distinct(penalty: Any, settings: Settings, name: str) -> Tensor:
    """The different values of a positive setting in a grid, ascending: what depends on A and on it is prepared once for
    each.
    """
    if name not in settings:
        return torch.tensor([float(getattr(penalty, name))], dtype=torch.float64)
    known = np.unique(settings[name].double().cpu().numpy())
    check_positive(**{name: float(known[0])})
    return torch.from_numpy(known)


def position(penalty: Any, settings: Settings, name: str, known: Tensor, configs: int) -> Tensor:
    """Where each configuration's value of a setting stands among the ``known`` distinct ones, (config,)."""
    return torch.searchsorted(known, setting(penalty, settings, name, known, configs))


def check_positive(**numbers: float) -> None:
    """Refuse a number that must be above zero when a penalty is made."""
    for name, value in numbers.items():
        if isinstance(value, str) or not value > 0 or value == float("inf"):
            raise InvalidInput(f"{name}={value} was given; a positive number is needed, such as 1.0.")


SMALLEST_SD = 0.05
"""Predictions that spread less than this (in standard deviations of y) count as constant: penalties that do not depend
on the scale of the predictions would otherwise push the harder the closer a predictor is to a constant."""


def check_mean(mean: Any, kind: type, example: str) -> None:
    """Refuse a conditional mean of the wrong kind when a penalty is made, not when it trains."""
    if not isinstance(mean, kind):
        raise InvalidType(f"mean={mean!r} was given; a {kind.__name__} object is needed, such as {example}.")


def check_settings(penalty: Penalty, settings: Settings) -> None:
    """Refuse settings that the penalty does not know, and numbers that no setting can have."""
    for name, values in settings.items():
        if name not in penalty.tunable:
            raise UnknownName(f"setting of {penalty.name}", name, penalty.tunable)
        if not bool((torch.isfinite(values) & (values >= 0)).all()):
            raise InvalidInput(f"{name}={values.tolist()} was given; finite numbers ≥ 0 are needed, such as 0.1.")

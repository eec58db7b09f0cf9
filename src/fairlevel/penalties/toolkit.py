"""What penalties share: defaults of the contract, records of tensors, reading of settings, checks of numbers."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput, InvalidType, UnknownName
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS, Along, Penalty, PenaltyStep, RowPlan, Settings
from fairlevel.tensors import to_device

SMALLEST_SD = 0.05
"""Predictions that spread less than this (in standard deviations of y) count as constant. Without a limit, a penalty
that does not depend on the scale of the predictions would have a larger gradient the closer they are to a constant."""


class Prepared:
    """What a penalty prepares from A, for subclasses that are frozen dataclasses of tensors."""

    def to(self, dtype: torch.dtype, device: torch.device | str) -> Self:
        """A copy with the floating tensors on ``device`` in ``dtype``."""
        return to_device(self, dtype, device)


class PenaltyDefaults:
    """Defaults for a penalty that has no state and no settings, and that uses all rows."""

    rows: RowPlan = ALL_TRAINING_ROWS
    tunable: ClassVar[tuple[str, ...]] = ()
    within_factors: ClassVar[bool] = False

    def curvature(self, weight: Tensor) -> Tensor:
        """That of a penalty whose second derivative is at most that of the loss."""
        return 1 + weight

    def tuned(self, attributes: Attributes, target: Array, seed: int) -> Self:
        """Itself: no number is chosen from the target."""
        return self

    def init(self, prepared: Any, configs: int, settings: Settings) -> Any:
        """None: a penalty has no state unless it says otherwise."""
        return None

    def step(self, prediction: Tensor, prepared: Any, state: Any) -> PenaltyStep:
        """Raises an error: every penalty has its own step."""
        raise TypeError(f"{type(self).__name__} has no method step(prediction, prepared, state).")

    def along(self, direction: Tensor, value: Tensor, prepared: Any, state: Any) -> Along | None:
        """None: the curvature along a direction is not known."""
        return None

    def step_after(self, prediction: Tensor, move: Tensor, along: Along, prepared: Any, state: Any) -> PenaltyStep:
        """The step from the predictions alone; what was kept along the direction is not used."""
        return self.step(prediction, prepared, state)

    def value(self, prediction: Tensor, prepared: Any, state: Any) -> Tensor:
        """The same estimate as in training."""
        return self.step(prediction, prepared, state).value


def setting(penalty: Any, settings: Settings, name: str, like: Tensor, configs: int) -> Tensor:
    """The number called ``name`` for each configuration, (config,): from the settings, else the penalty's own."""
    if name in settings:
        return settings[name].to(like)
    return like.new_full((configs,), float(getattr(penalty, name)))


def distinct(penalty: Any, settings: Settings, name: str) -> Tensor:
    """The different values of a positive setting in a grid, ascending.

    What depends on A and on the setting is prepared once for each of them.
    """
    if name not in settings:
        return torch.tensor([float(getattr(penalty, name))], dtype=torch.float64)
    known = np.unique(settings[name].double().cpu().numpy())
    check_positive(**{name: float(known[0])})
    return torch.from_numpy(known)


def position(penalty: Any, settings: Settings, name: str, known: Tensor, configs: int) -> Tensor:
    """The position of each configuration's value of a setting among the ``known`` distinct ones, (config,)."""
    return torch.searchsorted(known, setting(penalty, settings, name, known, configs))


class KernelWidths(NamedTuple):
    """The kernels of each configuration: which of the prepared bandwidths of A it uses, and its σ_f; each (config,)."""

    which: Tensor
    bandwidth: Tensor

    @classmethod
    def of(cls, penalty: Any, settings: Settings, known: Tensor, like: Tensor, configs: int) -> KernelWidths:
        """From the settings ``sensitive_bandwidth``, among the ``known`` ones, and ``bandwidth``."""
        which = position(penalty, settings, "sensitive_bandwidth", known, configs)
        return cls(which.to(like.device), setting(penalty, settings, "bandwidth", like, configs))


def without_tiny(kernel: Tensor) -> Tensor:
    """Kernels below 1e-12 as zero: products of denormal numbers take thirty times as long."""
    return torch.where(kernel < 1e-12, 0.0, kernel)


def check_positive(**numbers: float) -> None:
    """Refuse a number that is not above zero."""
    for name, value in numbers.items():
        if isinstance(value, str) or not value > 0 or value == float("inf"):
            raise InvalidInput(f"{name}={value} was given; a positive number is needed, such as 1.0.")


def check_mean(mean: Any, kind: str, example: str) -> None:
    """Refuse a conditional mean of the wrong kind when a penalty is made, not when it trains."""
    if isinstance(mean, type) or getattr(mean, "kind", None) != kind:
        raise InvalidType(f"mean={mean!r} was given; a {kind} conditional mean is needed, such as {example}.")


def check_settings(penalty: Penalty, settings: Settings) -> None:
    """Refuse settings that the penalty does not know, and numbers that no setting can have."""
    for name, values in settings.items():
        if name not in penalty.tunable:
            raise UnknownName(f"setting of {penalty.name}", name, penalty.tunable)
        if not bool((torch.isfinite(values) & (values >= 0)).all()):
            raise InvalidInput(f"{name}={values.tolist()} was given; finite numbers ≥ 0 are needed, such as 0.1.")

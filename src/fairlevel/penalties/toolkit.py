"""What penalties share: defaults of the contract, records of arrays, reading of settings, checks of numbers."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from fairlevel.arrays import AnyArray, Array, Backend, device, namespace, on_backend, on_cpu
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput, InvalidType, UnknownName
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS, Along, Penalty, PenaltyStep, RowPlan, Settings

SMALLEST_SD = 0.05
"""Predictions that spread less than this (in standard deviations of y) count as constant. Without a limit, a penalty
that does not depend on the scale of the predictions would have a larger gradient the closer they are to a constant."""


class Prepared:
    """What a penalty prepares from A, for subclasses that are frozen dataclasses of arrays."""

    def to(self, backend: Backend) -> Self:
        """A copy with the floating arrays where a training has its own."""
        return on_backend(self, backend)


class PenaltyDefaults:
    """Defaults for a penalty that has no state and no settings, and that uses all rows."""

    rows: RowPlan = ALL_TRAINING_ROWS
    tunable: ClassVar[tuple[str, ...]] = ()
    within_factors: ClassVar[bool] = False

    def curvature(self, weight: AnyArray) -> AnyArray:
        """That of a penalty whose second derivative is at most that of the loss."""
        return 1 + weight

    def tuned(self, attributes: Attributes, target: Array, seed: int) -> Self:
        """Itself: no number is chosen from the target."""
        return self

    def init(self, prepared: Any, configs: int, settings: Settings) -> Any:
        """None: a penalty has no state unless it says otherwise."""
        return None

    def step(self, prediction: AnyArray, prepared: Any, state: Any) -> PenaltyStep:
        """Raises an error: every penalty has its own step."""
        raise TypeError(f"{type(self).__name__} has no method step(prediction, prepared, state).")

    def along(self, direction: AnyArray, value: AnyArray, prepared: Any, state: Any) -> Along | None:
        """None: the curvature along a direction is not known."""
        return None

    def step_after(self, prediction: AnyArray, move: AnyArray, along: Along, prepared: Any, state: Any) -> PenaltyStep:
        """The step from the predictions alone; what was kept along the direction is not used."""
        return self.step(prediction, prepared, state)

    def value(self, prediction: AnyArray, prepared: Any, state: Any) -> AnyArray:
        """The same estimate as in training."""
        return self.step(prediction, prepared, state).value


def weights_of_part(row_weight: Array | None, part: slice, rows: int) -> Array:
    """Weights of some of the rows, scaled to sum to 1 over them, (row of the part,)."""
    weight = (np.ones(rows) if row_weight is None else np.asarray(row_weight, dtype=np.float64))[part]
    if not weight.sum() > 0:
        raise InvalidInput(
            "sample_weight is zero on all rows of a part of the training rows; positive weights are needed there."
        )
    normalised: Array = weight / weight.sum()
    return normalised


def setting(penalty: Any, settings: Settings, name: str, like: AnyArray, configs: int) -> AnyArray:
    """The number called ``name`` for each configuration, (config,): from the settings, else the penalty's own; of the
    type and on the device of ``like``.
    """
    numbers = settings[name] if name in settings else np.full(configs, float(getattr(penalty, name)))
    return namespace(like).asarray(numbers, dtype=like.dtype, device=device(like))


def distinct(penalty: Any, settings: Settings, name: str) -> Array:
    """The different values of a positive setting in a grid, ascending.

    What depends on A and on the setting is prepared once for each of them.
    """
    if name not in settings:
        return np.array([float(getattr(penalty, name))])
    known: Array = np.unique(settings[name])
    check_positive(**{name: float(known[0])})
    return known


def position(penalty: Any, settings: Settings, name: str, known: AnyArray, configs: int) -> AnyArray:
    """The position of each configuration's value of a setting among the ``known`` distinct ones, (config,)."""
    return namespace(known).searchsorted(known, setting(penalty, settings, name, known, configs))


class KernelWidths(NamedTuple):
    """The kernels of each configuration: which of the prepared bandwidths of A it uses, and its σ_f; each (config,)."""

    which: AnyArray
    bandwidth: AnyArray

    @classmethod
    def of(cls, penalty: Any, settings: Settings, known: AnyArray, like: AnyArray, configs: int) -> KernelWidths:
        """From the settings ``sensitive_bandwidth``, among the ``known`` ones, and ``bandwidth``."""
        which = position(penalty, settings, "sensitive_bandwidth", known, configs)
        return cls(which, setting(penalty, settings, "bandwidth", like, configs))


_ROWS = 512  # of which the activations of a step stay in a CPU's cache


def row_blocks(prediction: AnyArray) -> list[slice]:
    """Slices that cover all rows of predictions (config, row): small ones on a CPU; a GPU takes all rows at once."""
    rows = prediction.shape[1]
    size = _ROWS if on_cpu(prediction) else max(rows, 1)
    return [slice(start, min(start + size, rows)) for start in range(0, max(rows, 1), size)]


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
        if not (np.isfinite(values) & (values >= 0)).all():
            raise InvalidInput(f"{name}={values.tolist()} was given; finite numbers ≥ 0 are needed, such as 0.1.")

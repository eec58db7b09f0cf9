"""Names for arrays, and the library that computes with them: NumPy, or PyTorch where networks are trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

__all__ = [
    "AnyArray",
    "Array",
    "Backend",
    "Flags",
    "Index",
    "NumPyBackend",
    "RepeatedStep",
    "Step",
    "StepResult",
    "device",
    "namespace",
    "numpy_array",
    "on_backend",
    "on_cpu",
]

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
"""Numbers in 64 bits."""

Index = np.ndarray[tuple[int], np.dtype[np.int64]]
"""Row or column numbers."""

Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
"""One yes or no per entry."""

AnyArray: TypeAlias = Any
"""An array of NumPy or a tensor of PyTorch. Code for both takes functions from :func:`namespace`."""

Record = TypeVar("Record", bound=Any)


def namespace(*arrays: AnyArray) -> Any:
    """The functions of the array API standard for these arrays."""
    return array_namespace(*arrays)


def on_cpu(array: AnyArray) -> bool:
    """Whether it is in the memory of the CPU."""
    return str(device(array)) == "cpu"


def numpy_array(values: AnyArray) -> Any:
    """The same numbers in NumPy, from whatever device they are on."""
    return values if isinstance(values, np.ndarray) else values.detach().cpu().numpy()


class StepResult(NamedTuple):
    """The penalty's next state, and the accuracy loss and the penalty's value before the step, each (config,)."""

    state: Any
    loss: AnyArray
    value: AnyArray


Step = Callable[[Any], StepResult]
"""The penalty's state -> result; the learner changes in place."""


class Backend(Protocol):
    """Where the arrays of a training are."""

    def array(self, values: Array) -> AnyArray:
        """These numbers in 32 bits."""

    def repeated(self, step: Step) -> Callable[[], StepResult]:
        """What takes the next step each time it is called; the first one gets None as the penalty's state."""


class NumPyBackend:
    """NumPy, on the CPU."""

    dtype: ClassVar[Any] = np.float32

    def array(self, values: Array) -> AnyArray:
        return np.asarray(values, dtype=self.dtype)

    def repeated(self, step: Step) -> Callable[[], StepResult]:
        return RepeatedStep(step)


class RepeatedStep:
    """Takes the next step each time it is called."""

    def __init__(self, step: Step) -> None:
        self.step, self.state = step, None

    def __call__(self) -> StepResult:
        result = self.step(self.state)
        self.state = result.state
        return result


def on_backend(record: Record, backend: Backend) -> Record:
    """A frozen dataclass with its floating arrays on a backend. Other fields stay as they are; fields that hold the
    same array share one array afterwards, too.
    """
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    floating = {name: value for name, value in values.items() if _is_floating(value)}
    moved = {id(value): backend.array(value) for value in floating.values()}
    return replace(record, **{name: moved[id(value)] for name, value in floating.items()})


def _is_floating(value: Any) -> bool:
    return is_array_api_obj(value) and bool(namespace(value).isdtype(value.dtype, "real floating"))

"""What a system of another shape offers: it fits models for several strengths; some need A to predict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.candidates import TrainingSetup
from fairlevel.exceptions import InvalidInput
from fairlevel.members import Members
from fairlevel.members.protocol import Device, MembersInMemory


class Data(NamedTuple):
    """Standardised training rows. Shapes: x (row, feature) without A, y (row,), a (row, attribute)."""

    x: Array
    y: Array
    a: Array


@runtime_checkable
class System(Protocol):
    """One frozen object per system, its settings as fields.

    ``uses_attributes`` says whether it needs A to predict: such a system is a reference, since nobody else in the study
    sees A then. What a strength means is up to the system; its docstring says so.
    """

    name: ClassVar[str]
    uses_attributes: ClassVar[bool]

    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> Members:
        """One model per strength. Models of a system that uses A read x and A side by side."""


Function = Callable[[Array, Array], Array]
"""x (row, feature), or predictions (row,) to be moved, and a (row, attribute) -> predictions (row,)."""


@dataclass(frozen=True)
class FittedFunctions(MembersInMemory):
    """Fitted functions of x and A; the last ``attributes`` columns of the rows they read are A (none: x alone)."""

    functions: tuple[Function, ...]
    attributes: int

    kind: ClassVar[str] = "fitted_functions"
    native: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self.functions)

    def predict(self, x: Array, device: Device = "cpu") -> Array:
        features = x.shape[1] - self.attributes
        return np.stack([function(x[:, :features], x[:, features:]) for function in self.functions])

    def take(self, index: Index) -> Self:
        return replace(self, functions=tuple(self.functions[number] for number in index))

    def join(self, others: Sequence[Self]) -> Self:
        return replace(self, functions=(*self.functions, *(each for other in others for each in other.functions)))

    def refusal(self, what: str) -> InvalidInput:
        return InvalidInput(
            "Systems that the study compares with have no file format; use a penalty, such as penalty='fbo_closed', "
            "for a model to keep."
        )

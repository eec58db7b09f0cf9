"""The contract of members: fitted functions of the features, in memory, in a file and as ONNX."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.data.scaling import Scaler
from fairlevel.exceptions import InvalidInput
from fairlevel.onnx_graph import OnnxGraph, OnnxValue

Device: TypeAlias = str
"""Where many predictions are computed while models are trained; saved models predict on the CPU."""


@dataclass(frozen=True)
class Written:
    """Members as a file holds them: plain values for JSON, arrays and, where another library has a format of its own,
    texts, by name.
    """

    description: Mapping[str, Any]
    arrays: Mapping[str, Any]
    texts: Mapping[str, str] = field(default_factory=dict)


class Members(Protocol):
    """Fitted functions of the features that are evaluated together."""

    kind: ClassVar[str]

    @property
    def native(self) -> bool:
        """Whether they read gaps (NaN)."""

    def __len__(self) -> int: ...

    def predict(self, x: Array, device: Device = "cpu") -> Array:
        """(row, feature) -> (member, row) in float64."""

    def take(self, index: Index) -> Self:
        """Some of them, by position."""

    def join(self, others: Sequence[Self]) -> Self:
        """These and others of the same learner as one group."""

    def written(self) -> Written:
        """For a file."""

    @classmethod
    def from_file(cls, written: Written, module: Any = None) -> Self:
        """What :meth:`written` gave. ``module`` is an untrained module of the class that the file names, if any."""

    def add_to(self, graph: OnnxGraph, inputs: OnnxValue) -> OnnxValue:
        """Add them to an ONNX graph: inputs (row, feature) -> (member, row, 1)."""


class MembersInMemory(ABC):
    """The part of :class:`Members` about files, for members that have no file format."""

    @abstractmethod
    def refusal(self, what: str) -> InvalidInput:
        """Why they cannot be ``what``, such as "saved"."""

    def written(self) -> Written:
        raise self.refusal("saved")

    @classmethod
    def from_file(cls, written: Written, module: Any = None) -> Self:
        raise InvalidInput(f"{cls.__name__} has no file format.")

    def add_to(self, graph: OnnxGraph, inputs: OnnxValue) -> OnnxValue:
        raise self.refusal("written as ONNX")


def same_numbers(one: Array, other: Array) -> bool:
    """Whether two predictions are the same up to the rounding of 32 bits on different machines."""
    largest = float(np.abs(one).max(initial=0.0))
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=1e-4, atol=1e-4 * largest))


@runtime_checkable
class Rescalable(Protocol):
    """Members that can be brought to the units of y, so that another library reads them as a complete model."""

    def in_units(self, scaler: Scaler) -> Members:
        """mean + scale · f."""

"""The contract of members: fitted functions of the features, in memory, in a file and as ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.data.scaling import Scaler
from fairlevel.exceptions import InvalidInput
from fairlevel.onnx_graph import OnnxGraph

Device: TypeAlias = str
"""Where many predictions are computed while models are trained; saved models predict on the CPU."""


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

    def arrays(self) -> dict[str, Any]:
        """All numbers, for a file: NumPy arrays by name."""

    def texts(self) -> dict[str, str]:
        """Files of text, by name, where another library has a format of its own."""

    def description(self) -> dict[str, Any]:
        """Everything else, as plain values for JSON."""

    @classmethod
    def from_file(cls, arrays: Mapping[str, Any], texts: Mapping[str, str], description: Mapping[str, Any]) -> Self:
        """What :meth:`arrays`, :meth:`texts` and :meth:`description` wrote."""

    def add_to(self, graph: OnnxGraph, inputs: str) -> str:
        """Add them to an ONNX graph: inputs (row, feature) -> (member, row, 1)."""


class MembersInMemory:
    """The part of :class:`Members` about files, for members that have no file format."""

    def refusal(self, what: str) -> InvalidInput:
        """Why they cannot be ``what``, such as "saved"."""
        raise NotImplementedError

    def arrays(self) -> dict[str, Any]:
        raise self.refusal("saved")

    def texts(self) -> dict[str, str]:
        raise self.refusal("saved")

    def description(self) -> dict[str, Any]:
        raise self.refusal("saved")

    @classmethod
    def from_file(cls, arrays: Mapping[str, Any], texts: Mapping[str, str], description: Mapping[str, Any]) -> Self:
        raise InvalidInput(f"{cls.__name__} has no file format.")

    def add_to(self, graph: OnnxGraph, inputs: str) -> str:
        raise self.refusal("written as ONNX")


@runtime_checkable
class Faithful(Protocol):
    """Members of foreign code, of which a file may miss something."""

    def require_faithful(self, x: Array) -> None:
        """Raise an error if what is read from a file would not predict the same for these rows, (row, feature)."""


def same_numbers(one: Array, other: Array) -> bool:
    """Whether two predictions are the same up to the rounding of 32 bits on different machines."""
    largest = float(np.abs(one).max(initial=0.0))
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=1e-4, atol=1e-4 * largest))


@runtime_checkable
class LinearHead(Protocol):
    """Members whose last step is linear, so that the step can be solved again in closed form."""

    def features(self, x: Array) -> Array:
        """What the last steps of all members read, side by side, in float64: (row, feature) -> (row, unit)."""

    def with_heads(self, coefficients: Array, intercepts: Array) -> tuple[Members, int]:
        """New members whose sums are the given heads, and how many belong to each head, in order. Shapes:
        coefficients (head, unit), intercepts (head,).
        """


@runtime_checkable
class Rescalable(Protocol):
    """Members that can be brought to the units of y, so that another library reads them as a complete model."""

    def in_units(self, scaler: Scaler) -> Members:
        """mean + scale · f."""


@runtime_checkable
class Staged(Protocol):
    """Members that were built up in steps, so that what they were earlier is known."""

    def after(self, share: float) -> Members:
        """All members after this share of their steps."""

"""The contract of a predictor: something that follows a gradient in prediction space.

A predictor never sees A or y. From features, configurations and a seed it makes a *learner*, which trains one model
per configuration. What a learner leaves behind are *members*: fitted functions of the features.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import torch
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.networks.optimizers import Optimizer
from fairlevel.predictors.configurations import Configurations


class OnnxGraph(Protocol):
    """A graph under construction; values are known by name."""

    def constant(self, value: Array) -> str:
        """Add a constant."""

    def apply(self, operation: str, *inputs: str, **attributes: Any) -> str:
        """Add an operation of ONNX."""


class Members(Protocol):
    """Fitted functions of the features that are evaluated together."""

    kind: ClassVar[str]

    def __len__(self) -> int: ...

    def predict(self, x: Array, device: torch.device | str = "cpu") -> Array:
        """(row, feature) -> (member, row) in float64."""

    def take(self, index: Index) -> Self:
        """Some of them, by position."""

    def join(self, others: Sequence[Self]) -> Self:
        """These and others of the same learner as one group."""

    def arrays(self) -> dict[str, Tensor]:
        """All numbers, for a file."""

    def description(self) -> dict[str, Any]:
        """Everything else, as plain values for JSON."""

    @classmethod
    def from_file(cls, arrays: Mapping[str, Tensor], description: Mapping[str, Any]) -> Self:
        """What :meth:`arrays` and :meth:`description` wrote."""

    def add_to(self, graph: OnnxGraph, inputs: str) -> str:
        """Add them to an ONNX graph: inputs (row, feature) -> (member, row, 1)."""


@runtime_checkable
class LinearHead(Protocol):
    """Members whose last step is linear, so that the step can be solved again in closed form."""

    def features(self, x: Array) -> Tensor:
        """What the last steps of all members read, side by side, in float64: (row, feature) -> (row, unit)."""

    def with_heads(self, coefficients: Tensor, intercepts: Tensor) -> tuple[Members, int]:
        """New members whose sums are the given heads, and how many belong to each head, in order. Shapes:
        coefficients (head, unit), intercepts (head,).
        """


class Learner(Protocol):
    """One model per configuration, in training."""

    @property
    def steps(self) -> int:
        """How many steps a full training takes."""

    @property
    def changing(self) -> tuple[Tensor, ...] | None:
        """The tensors that a step changes in place; None where a step cannot be recorded as a CUDA graph."""

    def predictions(self, inputs: Tensor) -> Tensor:
        """Predictions (config, row) for inputs (row, …); what :meth:`follow` needs is kept."""

    def follow(self, gradient: Tensor, curvature: Tensor) -> None:
        """One step against a gradient in the last predictions, (config, row). The objective may be ``curvature``,
        (config,), times as curved as the loss alone.
        """

    def evaluate(self, inputs: Tensor) -> Tensor:
        """Predictions alone, (config, row); nothing is kept."""

    def snapshot(self, which: Tensor) -> None:
        """Remember the present state of some configurations, (config,) of booleans."""

    def restore(self) -> None:
        """Return every configuration to its last snapshot."""

    def model(self, configs: int) -> Members:
        """The first ``configs`` configurations as they are now."""


class Tiling(NamedTuple):
    """How a grid is trained: configurations per tile, to which multiple tiles are filled, threads over tiles."""

    size: int
    multiple: int = 1
    threads: int = 1


class LearnerFactory(Protocol):
    """What a predictor has prepared from the features of the training rows."""

    def inputs(self, x: Tensor) -> Tensor:
        """Rows as the learner reads them, on its device in float32: (row, feature) -> (row, …)."""

    def tiling(self, rows: int, configs: int) -> Tiling:
        """How many configurations are trained together."""

    def learner(self, configurations: Configurations, optimizer: Optimizer) -> Learner:
        """A learner before its first step."""


@runtime_checkable
class Predictor(Protocol):
    """One frozen object per kind of model. ``standardises`` says whether it reads standardised features or X as given;
    ``linear_head`` whether its members are :class:`LinearHead`.
    """

    name: ClassVar[str]
    standardises: ClassVar[bool]
    linear_head: ClassVar[bool]

    def prepare(self, x: Tensor, seed: int, device: torch.device) -> LearnerFactory:
        """Prepare on training rows, (row, feature)."""

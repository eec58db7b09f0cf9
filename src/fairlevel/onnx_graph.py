"""A graph of ONNX under construction, as members write themselves into it."""

from __future__ import annotations

from typing import Any, Protocol

from fairlevel.arrays import Array


class OnnxGraph(Protocol):
    """A graph under construction; values are known by name."""

    def constant(self, value: Array) -> str:
        """Add a constant."""

    def tensor(self, value: Array) -> Any:
        """A value for an attribute of an operation."""

    def apply(self, operation: str, *inputs: str, **attributes: Any) -> str:
        """Add an operation of ONNX."""

"""Where the layers of a 2×64 network live in a row of parameters, and what it is fitted to."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

HIDDEN = (64, 64)
_NAMES = ("inputs", "outputs", "stride", "w1", "b1", "w2", "b2", "w3", "b3")


class Regression(NamedTuple):
    """Σ_i w_i (h_c(x_i) − target_ci)². Shapes: x (row, input), target (config, row), row_weight (row,)."""

    x: Tensor
    target: Tensor
    row_weight: Tensor

    def contiguous(self) -> Regression:
        """With rows one after another."""
        return Regression(*(part.contiguous() for part in self))


class Guessing(NamedTuple):
    """Σ_i w_i ‖g_c(u_ci) − a_i‖² / k: a critic that sees one number a row.

    Shapes: seen u (config, row), target a (row, output), row_weight (row,).
    """

    seen: Tensor
    target: Tensor
    row_weight: Tensor

    def contiguous(self) -> Guessing:
        """With rows one after another."""
        return Guessing(*(part.contiguous() for part in self))


class Errors(NamedTuple):
    """What a critic gets wrong, (config,), and the slopes of that in its parameters, (config, parameter), and in what
    it sees, (config, row).
    """

    loss: Tensor
    gradient: Tensor
    pull: Tensor


class Shape(ctypes.Structure):
    """Whole numbers; the same fields as in the C source: inputs, outputs, length of a row, start of each weight and
    bias.
    """

    _fields_ = tuple((name, ctypes.c_int64) for name in _NAMES)

    @classmethod
    def of(cls, size: int, layers: Sequence[tuple[slice, slice, tuple[int, int]]]) -> Shape:
        """From the layers of a network: weight, bias and shape of each."""
        ends = layers[0][2][0], layers[-1][2][1]
        return cls(*ends, size, *(part.start for weight, bias, _ in layers for part in (weight, bias)))

    def values(self) -> tuple[int, ...]:
        """The fields in order."""
        return tuple(int(getattr(self, name)) for name in _NAMES)

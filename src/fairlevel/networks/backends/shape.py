"""Where the layers of a 2×64 network lie in a row of parameters, and what such a network is fitted to."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

HIDDEN = (64, 64)
_NAMES = ("inputs", "outputs", "stride", "w1", "b1", "w2", "b2", "w3", "b3")


class Regression(NamedTuple):
    """The loss Σ_i w_i (h_c(x_i) − target_ci)². Shapes: x (row, input), target (config, row), row_weight (row,)."""

    x: Tensor
    target: Tensor
    row_weight: Tensor

    def contiguous(self) -> Regression:
        """The same values, each tensor without gaps in memory."""
        return Regression(*(part.contiguous() for part in self))


class CriticFit(NamedTuple):
    """The loss Σ_i w_i ‖g_c(u_ci) − a_i‖² / k of a critic g_c, which predicts k numbers from one.

    Shapes: inputs u (config, row), target a (row, output), row_weight (row,).
    """

    inputs: Tensor
    target: Tensor
    row_weight: Tensor

    def contiguous(self) -> CriticFit:
        """The same values, each tensor without gaps in memory."""
        return CriticFit(*(part.contiguous() for part in self))


class CriticLoss(NamedTuple):
    """The loss of each critic, (config,), and its gradient in the inputs, (config, row)."""

    loss: Tensor
    input_gradient: Tensor


class AdamNumbers(NamedTuple):
    """The numbers of Adam that all configurations share; the step size is annealed up to step ``last_step``."""

    beta1: float
    beta2: float
    epsilon: float
    final_fraction: float
    last_step: int


class Shape(ctypes.Structure):
    """The fields of ``Shape`` in the C source, all 64-bit integers: number of inputs and outputs, length of a row of
    parameters, and where each weight and bias starts in it.
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

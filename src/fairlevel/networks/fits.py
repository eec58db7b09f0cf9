"""What networks and critics are fitted to."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


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

"""Triton kernels as a backend: a block of rows goes forward and back without leaving the chip.

Activations are computed again in the pullback instead of being kept: reading them back from memory costs more than the
products. Each program takes one configuration and a panel of rows and leaves one partial gradient; these are added in a
fixed order.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import torch
from torch import Tensor

from fairlevel.networks.backends.build import SWITCH
from fairlevel.networks.backends.shape import Errors, Guessing, Regression, Shape

LONGEST_PANEL, SHORTEST_PANEL = 1024, 64  # rows of one program
PROGRAMS = 4  # for each multiprocessor, at least, where rows allow
VALUE_PRECISION = "tf32x3"  # predictions: products of three parts, float32 in all but the last bits
SLOPE_PRECISION = "tf32"  # gradients: an error of a thousandth, far below that of the step size, at a third of the cost


class CompiledTriton:
    """Launches the kernels; a launch can be recorded into a CUDA graph."""

    most_inputs = most_outputs = 64  # more would leave the registers

    def __init__(self, kernels: Any) -> None:
        self._kernels = kernels

    def forward(self, shape: Shape, parameters: Tensor, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        parameters, x = parameters.contiguous(), x.contiguous()
        prediction = x.new_empty(len(parameters), len(x))
        panel, panels = _panels(len(parameters), len(x), x.device)
        launch = self._kernels.forward[(len(parameters), panels)]
        launch(parameters, x, prediction, len(x), panel, *shape.values(), **_chosen(shape.inputs), **FORWARD_TILE)
        return prediction, ()

    def pullback(
        self, shape: Shape, parameters: Tensor, x: Tensor, kept: tuple[Tensor, ...], gradient: Tensor
    ) -> Tensor:
        return self._gradient(shape, parameters, x, gradient, gradient, squared=False)

    def descend(self, shape: Shape, parameters: Tensor, fit: Regression, rate: Tensor, steps: int) -> Tensor:
        for _ in range(steps):
            gradient = self._gradient(shape, parameters, *fit, squared=True)
            parameters = torch.addcmul(parameters, gradient, rate.unsqueeze(1), value=-1)
        return parameters

    def guess(self, shape: Shape, parameters: Tensor, fit: Guessing) -> Errors:
        parameters, fit = parameters.contiguous(), fit.contiguous()
        configs, rows = fit.seen.shape
        panel, panels = _panels(configs, rows, fit.seen.device)
        parts = parameters.new_empty(configs, panels, parameters.shape[1])
        loss, pull = torch.empty_like(fit.seen), torch.empty_like(fit.seen)
        # a critic and its predictor drive each other: small errors grow, so slopes are as exact as values
        chosen = {"SLOPE_PRECISION": VALUE_PRECISION, **_chosen(shape.outputs), **BACKWARD_TILE}
        launch = self._kernels.guess[(configs, panels)]
        launch(parameters, *fit, parts, loss, pull, rows, panel, *shape.values(), **chosen)
        return Errors(loss.sum(dim=1), _added(parts), pull)

    def _gradient(
        self, shape: Shape, parameters: Tensor, x: Tensor, pull: Tensor, row_weight: Tensor, squared: bool
    ) -> Tensor:
        parameters, x = parameters.contiguous(), x.contiguous()
        pull, row_weight = pull.contiguous(), row_weight.contiguous()
        panel, panels = _panels(len(parameters), len(x), x.device)
        parts = x.new_empty(len(parameters), panels, parameters.shape[1])
        launch = self._kernels.backward[(len(parameters), panels)]
        chosen = {"SLOPE_PRECISION": SLOPE_PRECISION, "SQUARED": squared, **_chosen(shape.inputs), **BACKWARD_TILE}
        launch(parameters, x, pull, row_weight, parts, len(x), panel, *shape.values(), **chosen)
        return _added(parts)


def _chosen(width: int) -> dict[str, int | str]:
    """What the kernels are specialised for: inputs or outputs as a power of two, and the precision of products."""
    return {"PADDED": max(16, 1 << (width - 1).bit_length()), "PRECISION": VALUE_PRECISION}


def _added(parts: Tensor) -> Tensor:
    """Gradients of all panels: (config, panel, parameter) -> (config, parameter)."""
    return parts.squeeze(1) if parts.shape[1] == 1 else parts.sum(dim=1)


@cache
def _multiprocessors(device: torch.device) -> int:
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


def _panels(configs: int, rows: int, device: torch.device) -> tuple[int, int]:
    """Rows of a program, and how many programs a configuration gets: shorter ones where they would leave
    multiprocessors idle.
    """
    wanted = PROGRAMS * _multiprocessors(device)
    panel = LONGEST_PANEL
    while panel > SHORTEST_PANEL and configs * -(-rows // panel) < wanted:
        panel //= 2
    return panel, -(-rows // panel)


FORWARD_TILE = {"BLOCK": 64, "num_warps": 4, "num_stages": 1}
BACKWARD_TILE = {"BLOCK": 32, "num_warps": 4, "num_stages": 1}


def load() -> CompiledTriton | None:
    """The backend, if Triton is there."""
    if os.environ.get(SWITCH, "").lower() == "off":
        return None
    try:
        from fairlevel.networks.backends import cuda_kernels
    except ImportError:
        return None
    return CompiledTriton(cuda_kernels)

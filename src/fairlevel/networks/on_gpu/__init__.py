"""Triton kernels for many 2×64 networks at once on a GPU: a block of rows goes forward and back without leaving the
chip. Results equal those of :mod:`fairlevel.networks.network` up to rounding; without Triton PyTorch does the work.

Activations are computed again in the pullback: reading them from memory would cost more than the products. Each program
handles one configuration and one panel of rows and writes one partial gradient; these are added in a fixed order.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from math import log
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fairlevel.networks.fits import AdamNumbers, CriticFit, CriticLoss, Regression
from fairlevel.progress import say_slower

SWITCH = "FAIRLEVEL_NATIVE"
"""Environment variable: ``off`` turns Triton off."""

HIDDEN = (64, 64)

LONGEST_PANEL, SHORTEST_PANEL = 1024, 64  # rows per program
PROGRAMS = 4  # at least this many per multiprocessor, where there are enough rows
VALUE_PRECISION = "tf32x3"  # of predictions: three TF32 products, float32 except for the last bits
GRADIENT_PRECISION = "tf32"  # relative error of about 0.001, at a third of the cost


class Shape(NamedTuple):
    """Number of inputs and outputs, length of a row of parameters, and where each weight and bias starts in it."""

    inputs: int
    outputs: int
    stride: int
    w1: int
    b1: int
    w2: int
    b2: int
    w3: int
    b3: int

    @classmethod
    def of(cls, size: int, layers: Sequence[tuple[slice, slice, tuple[int, int]]]) -> Shape:
        """From the layers of a network: weight, bias and shape of each."""
        ends = layers[0][2][0], layers[-1][2][1]
        return cls(*ends, size, *(part.start for weight, bias, _ in layers for part in (weight, bias)))


class _CriticParts(NamedTuple):
    """Losses of rows and gradients in the inputs, each (config, row); gradients of panels (config, panel,
    parameter).
    """

    loss: Tensor
    input_gradient: Tensor
    parts: Tensor


class Kernels:
    """Launches the kernels; a launch can be recorded into a CUDA graph. Shapes: parameters (config, parameter)."""

    most_inputs = most_outputs = 64  # more do not fit the registers

    def __init__(self, kernels: Any) -> None:
        self._kernels = kernels

    def forward(self, shape: Shape, parameters: Tensor, x: Tensor) -> Tensor:
        """Predictions (config, row)."""
        parameters, x = parameters.contiguous(), x.contiguous()
        prediction = x.new_empty(len(parameters), len(x))
        panel, panels = _panels(len(parameters), len(x), x.device)
        launch = self._kernels.forward[(len(parameters), panels)]
        launch(parameters, x, prediction, len(x), panel, *shape, **_chosen(shape.inputs), **FORWARD_TILE)
        return prediction

    def pullback(self, shape: Shape, parameters: Tensor, x: Tensor, gradient: Tensor) -> Tensor:
        """Σ_i g_ci ∂f_ci/∂(parameters of c): gradient (config, row) -> (config, parameter)."""
        return self._gradient(shape, parameters, x, gradient, gradient, squared=False)

    def descend(self, shape: Shape, parameters: Tensor, fit: Regression, rate: Tensor, steps: int) -> Tensor:
        """New parameters after ``steps`` gradient steps on the regression; rate (config,)."""
        for _ in range(steps):
            gradient = self._gradient(shape, parameters, *fit, squared=True)
            parameters = torch.addcmul(parameters, gradient, rate.unsqueeze(1), value=-1)
        return parameters

    def second(self, shape: Shape, parameters: Tensor, direction: Tensor, fit: Regression) -> tuple[Tensor, Tensor]:
        """The Hessian of the regression times a direction, (config, parameter), and the derivatives of h along it,
        (config, row).
        """
        parameters, direction, fit = parameters.contiguous(), direction.contiguous(), fit.contiguous()
        configs, rows = fit.target.shape
        panel, panels = _panels(configs, rows, fit.x.device)
        parts, along = parameters.new_empty(configs, panels, parameters.shape[1]), torch.empty_like(fit.target)
        chosen = {"GRADIENT_PRECISION": GRADIENT_PRECISION, **_chosen(shape.inputs), **SECOND_TILE}
        launch = self._kernels.second[(configs, panels)]
        launch(parameters, direction, *fit, parts, along, rows, panel, *shape, **chosen)
        return _added(parts), along

    def critic_loss(self, shape: Shape, parameters: Tensor, fit: CriticFit) -> CriticLoss:
        """Loss of critics and its gradient in their inputs."""
        found = self._critic(shape, parameters, fit)
        return CriticLoss(found.loss.sum(dim=1), found.input_gradient)

    def critic_gradient(self, shape: Shape, parameters: Tensor, fit: CriticFit) -> Tensor:
        """The gradient of the same loss in the parameters."""
        return _added(self._critic(shape, parameters, fit).parts)

    def _critic(self, shape: Shape, parameters: Tensor, fit: CriticFit) -> _CriticParts:
        parameters, fit = parameters.contiguous(), fit.contiguous()
        configs, rows = fit.inputs.shape
        panel, panels = _panels(configs, rows, fit.inputs.device)
        parts = parameters.new_empty(configs, panels, parameters.shape[1])
        found = _CriticParts(torch.empty_like(fit.inputs), torch.empty_like(fit.inputs), parts)
        # critic and predictor react to each other, so errors grow: gradients are as exact as values
        chosen = {"GRADIENT_PRECISION": VALUE_PRECISION, **_chosen(shape.outputs), **BACKWARD_TILE}
        launch = self._kernels.critic_loss[(configs, panels)]
        launch(parameters, *fit, parts, found.loss, found.input_gradient, rows, panel, *shape, **chosen)
        return found

    def adam(
        self,
        parameters: Tensor,
        gradient: Tensor,
        moments: tuple[Tensor, Tensor],
        rate: Tensor,
        step: Tensor,
        numbers: AdamNumbers,
    ) -> None:
        """A step of Adam: parameters and both moments change in place; rate (config,), step a scalar."""
        configs, size = parameters.shape
        beta1, beta2, epsilon, final_fraction, last_step = numbers
        shared = (last_step, final_fraction, beta2, 1 - beta1, 1 - beta2, epsilon, log(beta1), log(beta2))
        launch = self._kernels.adam[(configs, -(-size // ADAM_BLOCK))]
        launch(parameters, gradient, *moments, rate, step, size, *shared, BLOCK=ADAM_BLOCK, num_warps=4)

    def _gradient(
        self, shape: Shape, parameters: Tensor, x: Tensor, given: Tensor, row_weight: Tensor, squared: bool
    ) -> Tensor:
        """The pullback of ``given``, or with ``squared`` the gradient of Σ w_i (f_i − given_i)²."""
        parameters, x = parameters.contiguous(), x.contiguous()
        given, row_weight = given.contiguous(), row_weight.contiguous()
        panel, panels = _panels(len(parameters), len(x), x.device)
        parts = x.new_empty(len(parameters), panels, parameters.shape[1])
        launch = self._kernels.backward[(len(parameters), panels)]
        chosen = {
            "GRADIENT_PRECISION": GRADIENT_PRECISION,
            "SQUARED": squared,
            **_chosen(shape.inputs),
            **BACKWARD_TILE,
        }
        launch(parameters, x, given, row_weight, parts, len(x), panel, *shape, **chosen)
        return _added(parts)


def _chosen(width: int) -> dict[str, int | str]:
    """Compile-time constants of the kernels: inputs or outputs rounded up to a power of two, precision of products."""
    return {"PADDED": max(16, 1 << (width - 1).bit_length()), "PRECISION": VALUE_PRECISION}


def _added(parts: Tensor) -> Tensor:
    """The sum of the gradients of all panels: (config, panel, parameter) -> (config, parameter)."""
    return parts.squeeze(1) if parts.shape[1] == 1 else parts.sum(dim=1)


@cache
def _multiprocessors(device: torch.device) -> int:
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


def _panels(configs: int, rows: int, device: torch.device) -> tuple[int, int]:
    """Rows per program and programs per configuration; panels are shorter where multiprocessors would be idle."""
    wanted = PROGRAMS * _multiprocessors(device)
    panel = LONGEST_PANEL
    while panel > SHORTEST_PANEL and configs * -(-rows // panel) < wanted:
        panel //= 2
    return panel, -(-rows // panel)


FORWARD_TILE = {"BLOCK": 64, "num_warps": 4, "num_stages": 1}
BACKWARD_TILE = {"BLOCK": 32, "num_warps": 4, "num_stages": 1}
SECOND_TILE = {"BLOCK": 32, "num_warps": 8, "num_stages": 1}
ADAM_BLOCK = 1024


def triton_kernels(module: str) -> Any:
    """A module of kernels, or None where Triton is missing or switched off."""
    if os.environ.get(SWITCH, "").lower() == "off":
        return None
    try:
        return import_module(module)
    except ImportError:
        say_slower(
            f"Triton is not installed: training on a GPU takes longer. {SWITCH}=off, set before, says it is meant."
        )
        return None


def kernels_for(hidden: tuple[int, ...], outputs: int, *tensors: Tensor) -> Kernels | None:
    """The kernels for networks of this shape on these tensors (parameters first, then x (row, input)), or None where
    PyTorch must do the work: on a CPU, for another shape or too many inputs, without Triton, or with autograd.
    """
    if hidden != HIDDEN or outputs != 1 or tensors[1].ndim != 2 or tensors[1].shape[1] > Kernels.most_inputs:
        return None
    return _kernels_on(tensors)


def kernels_for_critics(hidden: tuple[int, ...], parameters: Tensor, fit: CriticFit) -> Kernels | None:
    """The kernels for critics with these hidden layers, or None where PyTorch must do the work."""
    if hidden != HIDDEN or fit.target.shape[1] > Kernels.most_outputs:
        return None
    return _kernels_on((parameters, *fit))


def kernels_for_adam(*tensors: Tensor) -> Kernels | None:
    """The kernels for steps of Adam on these tensors, or None where PyTorch must do the work."""
    return _kernels_on(tensors) if all(each.is_contiguous() for each in tensors) else None


def needs_autograd(*tensors: Tensor) -> bool:
    """Whether autograd tracks any of them; kernels cannot be differentiated."""
    return torch.is_grad_enabled() and any(each.requires_grad for each in tensors)


def _kernels_on(tensors: tuple[Tensor, ...]) -> Kernels | None:
    """For float32 tensors on a GPU that autograd does not track."""
    if not all(each.is_cuda and each.dtype == torch.float32 for each in tensors) or needs_autograd(*tensors):
        return None
    return _kernels()


@cache
def _kernels() -> Kernels | None:
    kernels = triton_kernels("fairlevel.networks.on_gpu.cuda_kernels")
    return None if kernels is None else Kernels(kernels)

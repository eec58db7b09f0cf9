"""Stacks of 2×64 networks by compiled code: C on a CPU where a compiler was found, Triton on a GPU.

The numbers are those of :mod:`fairlevel.networks.network` up to rounding; activations stay on chip. Everything works
without, only slower.
"""

from __future__ import annotations

from functools import cache
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from fairlevel.networks.backends.shape import HIDDEN, Errors, Guessing, Regression, Shape

__all__ = [
    "Backend",
    "Errors",
    "Guessing",
    "Regression",
    "SecondOrder",
    "Shape",
    "backend_for",
    "critics_for",
    "differentiated",
]


class Backend(Protocol):
    """What compiled code does for a stack."""

    most_inputs: int
    most_outputs: int

    def forward(self, shape: Shape, parameters: Tensor, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Predictions (config, row), and what it wants back in the pullback."""

    def pullback(
        self, shape: Shape, parameters: Tensor, x: Tensor, kept: tuple[Tensor, ...], gradient: Tensor
    ) -> Tensor:
        """Σ_i g_ci ∂f_ci/∂(parameters of c): gradient (config, row) -> (config, parameter)."""

    def descend(self, shape: Shape, parameters: Tensor, fit: Regression, rate: Tensor, steps: int) -> Tensor:
        """``steps`` gradient steps on the regression from the given parameters, which stay as they are; rate
        (config,).
        """

    def guess(self, shape: Shape, parameters: Tensor, fit: Guessing) -> Errors:
        """Loss and slopes of critics that see one number a row and guess several."""


@runtime_checkable
class SecondOrder(Backend, Protocol):
    """A backend that knows second derivatives, too."""

    def second(self, shape: Shape, parameters: Tensor, direction: Tensor, fit: Regression) -> tuple[Tensor, Tensor]:
        """The Hessian of the regression times a direction, (config, parameter), and the derivatives of h along it,
        (config, row).
        """


def backend_for(hidden: tuple[int, ...], outputs: int, *tensors: Tensor) -> Backend | None:
    """Who serves a network of this shape on these tensors, parameters and (row, input) first; nobody where something
    is differentiated.
    """
    if hidden != HIDDEN or outputs != 1 or tensors[1].ndim != 2:
        return None
    backend = _serving(tensors)
    return backend if backend is not None and tensors[1].shape[1] <= backend.most_inputs else None


def critics_for(hidden: tuple[int, ...], parameters: Tensor, fit: Guessing) -> Backend | None:
    """Who serves critics of these hidden layers; nobody where something is differentiated."""
    if hidden != HIDDEN:
        return None
    backend = _serving((parameters, *fit))
    return backend if backend is not None and fit.target.shape[1] <= backend.most_outputs else None


def differentiated(*tensors: Tensor) -> bool:
    """Whether autograd watches any of them."""
    return torch.is_grad_enabled() and any(each.requires_grad for each in tensors)


def _serving(tensors: tuple[Tensor, ...]) -> Backend | None:
    """The backend of float32 tensors on one device."""
    if differentiated(*tensors):
        return None
    device = tensors[0].device.type
    if not all(each.device.type == device and each.dtype == torch.float32 for each in tensors):
        return None
    return _backend(device)


@cache
def _backend(device: str) -> Backend | None:
    if device == "cpu":
        from fairlevel.networks.backends.cpu import load

        return load()
    if device == "cuda":
        from fairlevel.networks.backends.cuda import load as load_cuda

        return load_cuda()
    return None

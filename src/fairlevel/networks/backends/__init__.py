"""Compiled code for many 2×64 networks at once: C on a CPU where a compiler was found, Triton on a GPU.

Results equal those of :mod:`fairlevel.networks.network` up to rounding. Compiled code is optional: without it
everything works in PyTorch alone, only slower.
"""

from __future__ import annotations

from functools import cache
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from fairlevel.networks.backends.shape import HIDDEN, AdamNumbers, CriticFit, CriticLoss, Regression, Shape

__all__ = [
    "AdamNumbers",
    "Backend",
    "CriticFit",
    "CriticLoss",
    "FusedAdam",
    "Regression",
    "SecondOrder",
    "Shape",
    "adam_backend_for",
    "backend_for",
    "critic_backend_for",
    "needs_autograd",
]


class Backend(Protocol):
    """What compiled code computes for all configurations at once."""

    most_inputs: int
    most_outputs: int

    def forward(self, shape: Shape, parameters: Tensor, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Predictions (config, row), and the tensors to pass back to :meth:`pullback` as ``kept``."""

    def pullback(
        self, shape: Shape, parameters: Tensor, x: Tensor, kept: tuple[Tensor, ...], gradient: Tensor
    ) -> Tensor:
        """Σ_i g_ci ∂f_ci/∂(parameters of c): gradient (config, row) -> (config, parameter)."""

    def descend(self, shape: Shape, parameters: Tensor, fit: Regression, rate: Tensor, steps: int) -> Tensor:
        """New parameters after ``steps`` gradient steps on the regression; the given ones are not changed. rate
        (config,).
        """

    def critic_loss(self, shape: Shape, parameters: Tensor, fit: CriticFit) -> CriticLoss:
        """Loss of critics and its gradient in their inputs."""

    def critic_gradient(self, shape: Shape, parameters: Tensor, fit: CriticFit) -> Tensor:
        """The gradient of the same loss in the parameters, (config, parameter)."""


@runtime_checkable
class SecondOrder(Backend, Protocol):
    """A backend that also computes second derivatives."""

    def second(self, shape: Shape, parameters: Tensor, direction: Tensor, fit: Regression) -> tuple[Tensor, Tensor]:
        """The Hessian of the regression times a direction, (config, parameter), and the derivatives of h along it,
        (config, row).
        """


@runtime_checkable
class FusedAdam(Protocol):
    """A backend that takes a step of Adam at once."""

    def adam(
        self,
        parameters: Tensor,
        gradient: Tensor,
        moments: tuple[Tensor, Tensor],
        rate: Tensor,
        step: Tensor,
        numbers: AdamNumbers,
    ) -> None:
        """Change parameters and both moments, each (config, parameter), in place; rate (config,), step a scalar."""


def backend_for(hidden: tuple[int, ...], outputs: int, *tensors: Tensor) -> Backend | None:
    """The backend for networks of this shape on these tensors (parameters first, then x (row, input)), or None where
    PyTorch must do the work: another shape, too many inputs, no compiler, or autograd.
    """
    if hidden != HIDDEN or outputs != 1 or tensors[1].ndim != 2:
        return None
    backend = _backend_for_tensors(tensors)
    return backend if backend is not None and tensors[1].shape[1] <= backend.most_inputs else None


def critic_backend_for(hidden: tuple[int, ...], parameters: Tensor, fit: CriticFit) -> Backend | None:
    """The backend for critics with these hidden layers, or None where PyTorch must do the work."""
    if hidden != HIDDEN:
        return None
    backend = _backend_for_tensors((parameters, *fit))
    return backend if backend is not None and fit.target.shape[1] <= backend.most_outputs else None


def adam_backend_for(*tensors: Tensor) -> FusedAdam | None:
    """The backend that takes steps of Adam on these tensors, or None where PyTorch must do the work."""
    backend = _adam_backend(tensors[0].device.type)
    if backend is None or not all(each.is_contiguous() for each in tensors):
        return None
    return backend if _backend_for_tensors(tensors) is not None else None


def needs_autograd(*tensors: Tensor) -> bool:
    """Whether autograd tracks any of them; compiled code cannot be differentiated."""
    return torch.is_grad_enabled() and any(each.requires_grad for each in tensors)


def _backend_for_tensors(tensors: tuple[Tensor, ...]) -> Backend | None:
    """The backend for float32 tensors on one device that autograd does not track."""
    if needs_autograd(*tensors):
        return None
    device = tensors[0].device.type
    if not all(each.device.type == device and each.dtype == torch.float32 for each in tensors):
        return None
    return _backend(device)


@cache
def _adam_backend(device: str) -> FusedAdam | None:
    """Asked once per device: comparing with a protocol takes as long as a small product."""
    backend = _backend(device)
    return backend if isinstance(backend, FusedAdam) else None


@cache
def _backend(device: str) -> Backend | None:
    if device == "cpu":
        from fairlevel.networks.backends.cpu import load

        return load()
    if device == "cuda":
        from fairlevel.networks.backends.cuda import load as load_cuda

        return load_cuda()
    return None

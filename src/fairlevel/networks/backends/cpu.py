"""The backend that calls the compiled C library."""

from __future__ import annotations

import ctypes
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from fairlevel.compiled import call, shared_library
from fairlevel.networks.backends.shape import HIDDEN, CriticFit, CriticLoss, Regression, Shape

KEPT = 2**17  # rows times configurations; beyond, computing activations again is faster than reading them from memory
SOURCE = Path(__file__).with_name("mlp.c")
_NOTHING = (None, None)
_FUNCTIONS = ("mlp_forward", "mlp_pullback", "mlp_descend", "mlp_second", "mlp_critic_loss")


class CompiledC:
    """Calls the library, on as many threads as PyTorch uses."""

    most_inputs = 2**31
    most_outputs = HIDDEN[1]

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        library.mlp_panels.restype = ctypes.c_int64
        library.mlp_panels.argtypes = [ctypes.c_int64]
        for name in _FUNCTIONS:
            getattr(library, name)  # AttributeError for a library without it

    def forward(self, shape: Shape, parameters: Tensor, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        parameters, x = parameters.contiguous(), x.contiguous()
        configs, rows = len(parameters), len(x)
        prediction = x.new_empty(configs, rows)
        widths = HIDDEN if configs * rows <= KEPT else ()
        kept = tuple(x.new_empty(configs, rows, width) for width in widths)
        self._call("mlp_forward", shape, configs, rows, parameters, x, *(kept or _NOTHING), prediction)
        return prediction, kept

    def pullback(
        self, shape: Shape, parameters: Tensor, x: Tensor, kept: tuple[Tensor, ...], gradient: Tensor
    ) -> Tensor:
        parameters, x, gradient = parameters.contiguous(), x.contiguous(), gradient.contiguous()
        configs, rows = gradient.shape
        result, buffer = torch.empty_like(parameters), self._buffer(shape, configs, rows)
        self._call("mlp_pullback", shape, configs, rows, parameters, x, *(kept or _NOTHING), gradient, buffer, result)
        return result

    def descend(self, shape: Shape, parameters: Tensor, fit: Regression, rate: Tensor, steps: int) -> Tensor:
        updated = parameters.clone(memory_format=torch.contiguous_format)
        configs, rows = fit.target.shape
        buffer = self._buffer(shape, configs, rows)
        self._call("mlp_descend", shape, configs, rows, updated, *fit.contiguous(), rate.contiguous(), steps, buffer)
        return updated

    def second(self, shape: Shape, parameters: Tensor, direction: Tensor, fit: Regression) -> tuple[Tensor, Tensor]:
        parameters, direction, fit = parameters.contiguous(), direction.contiguous(), fit.contiguous()
        configs, rows = fit.target.shape
        product, along = torch.empty_like(parameters), torch.empty_like(fit.target)
        tensors = (parameters, direction, *fit, along, self._buffer(shape, configs, rows), product)
        self._call("mlp_second", shape, configs, rows, *tensors)
        return product, along

    def critic_loss(self, shape: Shape, parameters: Tensor, fit: CriticFit) -> CriticLoss:
        return self._critic(shape, parameters, fit)[0]

    def critic_gradient(self, shape: Shape, parameters: Tensor, fit: CriticFit) -> Tensor:
        return self._critic(shape, parameters, fit)[1]

    def _critic(self, shape: Shape, parameters: Tensor, fit: CriticFit) -> tuple[CriticLoss, Tensor]:
        parameters, fit = parameters.contiguous(), fit.contiguous()
        configs, rows = fit.inputs.shape
        losses = fit.inputs.new_empty(configs, self._library.mlp_panels(rows))
        input_gradient, gradient = torch.empty_like(fit.inputs), torch.empty_like(parameters)
        tensors = (parameters, *fit, losses, input_gradient, self._buffer(shape, configs, rows), gradient)
        self._call("mlp_critic_loss", shape, configs, rows, *tensors)
        return CriticLoss(losses.sum(dim=1), input_gradient), gradient

    def _buffer(self, shape: Shape, configs: int, rows: int) -> Tensor:
        """Space for one partial gradient per configuration and panel of rows."""
        return torch.empty(configs * self._library.mlp_panels(rows) * shape.stride, dtype=torch.float32)

    def _call(self, name: str, shape: Shape, *arguments: int | Tensor | None) -> None:
        call(partial(getattr(self._library, name), ctypes.byref(shape)), *arguments)


def load() -> CompiledC | None:
    """The backend, or None where the library cannot be built, opened or understood."""
    path = shared_library(SOURCE)
    try:
        return None if path is None else CompiledC(ctypes.CDLL(str(path)))
    except (OSError, AttributeError):
        return None

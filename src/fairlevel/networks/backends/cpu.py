"""The C library as a backend."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from fairlevel.networks.backends.build import shared_library
from fairlevel.networks.backends.shape import HIDDEN, Errors, Guessing, Regression, Shape

KEPT = 2**17  # rows of all configurations; activations of more are computed again, not fetched from memory
_NOTHING = (None, None)


class CompiledC:
    """Calls into the library, on as many threads as PyTorch uses."""

    most_inputs = 2**31
    most_outputs = HIDDEN[1]

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        library.mlp_panels.restype = ctypes.c_int64
        library.mlp_panels.argtypes = [ctypes.c_int64]

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
        result, room = torch.empty_like(parameters), self._room(shape, configs, rows)
        self._call("mlp_pullback", shape, configs, rows, parameters, x, *(kept or _NOTHING), gradient, room, result)
        return result

    def descend(self, shape: Shape, parameters: Tensor, fit: Regression, rate: Tensor, steps: int) -> Tensor:
        moving = parameters.clone(memory_format=torch.contiguous_format)
        configs, rows = fit.target.shape
        room = self._room(shape, configs, rows)
        self._call("mlp_descend", shape, configs, rows, moving, *fit.contiguous(), rate.contiguous(), steps, room)
        return moving

    def second(self, shape: Shape, parameters: Tensor, direction: Tensor, fit: Regression) -> tuple[Tensor, Tensor]:
        parameters, direction, fit = parameters.contiguous(), direction.contiguous(), fit.contiguous()
        configs, rows = fit.target.shape
        product, along = torch.empty_like(parameters), torch.empty_like(fit.target)
        tensors = (parameters, direction, *fit, along, self._room(shape, configs, rows), product)
        self._call("mlp_second", shape, configs, rows, *tensors)
        return product, along

    def guess(self, shape: Shape, parameters: Tensor, fit: Guessing) -> Errors:
        parameters, fit = parameters.contiguous(), fit.contiguous()
        configs, rows = fit.seen.shape
        losses = fit.seen.new_empty(configs, self._library.mlp_panels(rows))
        pull, gradient = torch.empty_like(fit.seen), torch.empty_like(parameters)
        tensors = (parameters, *fit, losses, pull, self._room(shape, configs, rows), gradient)
        self._call("mlp_guess", shape, configs, rows, *tensors)
        return Errors(losses.sum(dim=1), gradient, pull)

    def _room(self, shape: Shape, configs: int, rows: int) -> Tensor:
        """For one gradient a configuration and panel of rows."""
        return torch.empty(configs * self._library.mlp_panels(rows) * shape.stride)

    def _call(self, name: str, shape: Shape, *arguments: int | Tensor | None) -> None:
        """Tensors as addresses, whole numbers as 64 bits, and the number of threads last."""
        converted = [
            ctypes.c_int64(each)
            if isinstance(each, int)
            else ctypes.c_void_p(None if each is None else each.data_ptr())
            for each in arguments
        ]
        getattr(self._library, name)(ctypes.byref(shape), *converted, ctypes.c_int(torch.get_num_threads()))


def load() -> CompiledC | None:
    """The backend, if the library could be built and opened."""
    path = shared_library()
    try:
        return None if path is None else CompiledC(ctypes.CDLL(str(path)))
    except OSError:
        return None

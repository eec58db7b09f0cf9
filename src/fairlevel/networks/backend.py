"""Training on tensors of PyTorch: where they are, and penalties that are written for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Self, TypeVar

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array, Backend, RepeatedStep, Step, StepResult, on_backend
from fairlevel.exceptions import InvalidInput, UnknownName
from fairlevel.networks.cuda_graph import RecordedStep
from fairlevel.networks.memory import keep_freed_memory_if_asked
from fairlevel.penalties.protocol import PenaltyStep, Prepared

Method = TypeVar("Method", bound=Callable[..., Any])


class TorchBackend:
    """Tensors in 32 bits on a device. On a GPU a step is recorded once as a CUDA graph, unless ``records`` is False."""

    def __init__(self, device: torch.device | str, dtype: torch.dtype = torch.float32, *, records: bool = True) -> None:
        self.device, self.dtype, self._records = torch.device(device), dtype, records
        if self.device.type == "cpu":
            keep_freed_memory_if_asked()

    def array(self, values: Array | Tensor) -> Tensor:
        return torch.as_tensor(values).to(self.device, self.dtype)

    def repeated(self, step: Step) -> Callable[[], StepResult]:
        return RecordedStep(step) if self.device.type == "cuda" and self._records else RepeatedStep(step)


def resolve_device(device: str) -> torch.device:
    """``auto`` takes CUDA when there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device not in ("cpu", "cuda"):
        raise UnknownName("device", device, ("auto", "cpu", "cuda"))
    if device == "cuda" and not torch.cuda.is_available():
        raise InvalidInput("device='cuda' was given, but PyTorch sees no CUDA device here; use device='cpu' or 'auto'.")
    return torch.device(device)


class PreparedTensors(Prepared):
    """What a penalty prepares that is written for tensors alone: on the CPU, where predictions are NumPy's."""

    def to(self, backend: Backend) -> Self:
        return on_backend(self, backend if isinstance(backend, TorchBackend) else TorchBackend("cpu"))


def on_tensors(method: Method) -> Method:
    """A method whose first argument is a tensor of predictions, or of a direction of them, for NumPy arrays, too: a
    booster predicts by NumPy. What it returns for predictions is then NumPy's; the state stays the method's own.
    """

    @wraps(method)
    def converted(self: Any, first: Any, *others: Any) -> Any:
        if isinstance(first, Tensor):
            return method(self, first, *others)
        result = method(self, torch.from_numpy(np.ascontiguousarray(first)), *others)
        if isinstance(result, PenaltyStep):
            return result._replace(value=result.value.numpy(), gradient=result.gradient.numpy())
        return result.numpy()

    return converted  # type: ignore[return-value]

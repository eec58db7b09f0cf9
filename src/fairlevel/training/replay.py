"""Repeating one step of training: called again and again on a CPU, captured once and replayed on a GPU.

A step is a function of everything that moves (:class:`Moving`). On CUDA its kernels are recorded into one graph, so
that a step of hundreds of small kernels costs a single launch; the arithmetic is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fairlevel.networks.optimizers import Moments

_WARM_UP = 3  # calls before capture, as CUDA graphs require


class Moving(NamedTuple):
    """All that changes from step to step: parameters (config, parameter), the optimiser's moments, the penalty's state,
    the number of steps taken (a float64 scalar on the device).
    """

    parameters: Tensor
    moments: Moments | None
    state: Any
    steps: Tensor


class Taken(NamedTuple):
    """What a step leaves: everything that moved, accuracy loss and penalty value before it, each (config,)."""

    moving: Moving
    loss: Tensor
    value: Tensor


Step = Callable[[Moving], Taken]


def repeated(step: Step, start: Moving) -> Callable[[], Taken]:
    """A function that takes the next step each time it is called; what it returns is valid until the next call."""
    return _Replayed(step, start) if start.parameters.is_cuda else _Called(step, start)


class _Called:
    def __init__(self, step: Step, start: Moving) -> None:
        self._step, self._moving = step, start

    def __call__(self) -> Taken:
        taken = self._step(self._moving)
        self._moving = taken.moving
        return taken


class _Replayed:
    def __init__(self, step: Step, start: Moving) -> None:
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            practice = _copied(start)
            for _ in range(_WARM_UP):
                practice = step(practice).moving
        torch.cuda.current_stream().wait_stream(side)
        del practice
        moving = _copied(start)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            taken = step(moving)
            for here, after in zip(_tensors(moving), _tensors(taken.moving), strict=True):
                if here is not after:
                    here.copy_(after)
        self._taken = Taken(moving, taken.loss, taken.value)

    def __call__(self) -> Taken:
        self._graph.replay()
        return self._taken


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors in nested tuples and dictionaries, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _tensors(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from _tensors(each)


def _copied(value: Any) -> Any:
    """The same structure with its own tensors."""
    if isinstance(value, Tensor):
        return value.clone()
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    if isinstance(value, tuple):
        parts = [_copied(each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value

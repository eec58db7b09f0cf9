"""Repeating one step of training on a GPU: recorded once as a CUDA graph, and replayed.

A recorded step of hundreds of small kernels costs a single launch; the arithmetic is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from fairlevel.arrays import RepeatedStep, Step, StepResult

_WARM_UP = 3  # steps before recording, as CUDA graphs require
_AHEAD = 64  # replays that may wait for the GPU


class RecordedStep(RepeatedStep):
    """Takes the next step each time it is called, from the fourth on by a CUDA graph; a result is valid until the next
    call. A graph reads tensors by their addresses and does not own them, so the step, whose tensors it reads, is kept
    as long as the graph.
    """

    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self._taken = 0
        self._side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self._reached = [torch.cuda.Event(blocking=True) for _ in range(2)]  # type: ignore[no-untyped-call]

    def __call__(self) -> StepResult:
        """Every 64 replays this thread sleeps until the GPU has done all but the last 64: where its queue is full, CUDA
        would wait in a loop that takes a core from other processes.
        """
        if self._taken < _WARM_UP:
            result = self._on_side_stream()
        else:
            if self._taken == _WARM_UP:
                self._record()
            self._graph.replay()
            result = self._result
        self._taken += 1
        if self._taken % _AHEAD == 0:
            self._reached.reverse()
            self._reached[0].record()
            self._reached[1].synchronize()
        return result

    def _on_side_stream(self) -> StepResult:
        """A step as it is, where CUDA wants to see some before it records."""
        self._side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._side):
            result = super().__call__()
        torch.cuda.current_stream().wait_stream(self._side)
        return result

    def _record(self) -> None:
        here = _copied(self.state)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            result = self.step(here)
            for old, new in zip(_tensors(here), _tensors(result.state), strict=True):
                if old is not new:
                    old.copy_(new)
        self._result = StepResult(here, result.loss, result.value)


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors in nested tuples, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _tensors(each)


def _copied(value: Any) -> Any:
    """The same structure with its own tensors."""
    if isinstance(value, Tensor):
        return value.clone()
    if isinstance(value, tuple):
        parts = [_copied(each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value

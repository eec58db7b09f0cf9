"""Repeating one step of training on a GPU: recorded once as a CUDA graph, and replayed.

A recorded step of hundreds of small kernels costs a single launch; the arithmetic is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from fairlevel.arrays import Step, StepResult
from fairlevel.training.rows import StepRows

_WARM_UP = 3  # calls before recording, as CUDA graphs require
_AHEAD = 64  # replays that may wait for the GPU


class RecordedStep:
    """Takes the next step each time it is called, by a CUDA graph; a result is valid until the next call.

    ``changing`` are the learner's tensors: the steps of the warm-up are undone on them. A graph reads tensors by their
    addresses and does not own them, so the step and the rows, whose tensors it reads, are kept as long as the graph.
    """

    def __init__(self, step: Step, state: Any, rows: StepRows, changing: Sequence[Tensor]) -> None:
        self._read_by_graph = step, rows
        before = [tensor.clone() for tensor in changing]
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            practice = _copied(state)
            for _ in range(_WARM_UP):
                practice = step(rows, practice).state
        torch.cuda.current_stream().wait_stream(side)
        del practice
        for tensor, saved in zip(changing, before, strict=True):
            tensor.copy_(saved)
        here = _copied(state)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            result = step(rows, here)
            for old, new in zip(_tensors(here), _tensors(result.state), strict=True):
                if old is not new:
                    old.copy_(new)
        self._result = StepResult(here, result.loss, result.value)
        self._replays = 0
        self._reached = [torch.cuda.Event(blocking=True) for _ in range(2)]  # type: ignore[no-untyped-call]

    def __call__(self) -> StepResult:
        """Replay. Every 64 replays this thread sleeps until the GPU has done all but the last 64: where its queue is
        full, CUDA would wait in a loop that takes a core from other processes.
        """
        self._graph.replay()
        self._replays += 1
        if self._replays % _AHEAD == 0:
            self._reached.reverse()
            self._reached[0].record()
            self._reached[1].synchronize()
        return self._result


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

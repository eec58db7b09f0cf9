"""What training leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np

from fairlevel.arrays import AnyArray, Array, Flags, Index, namespace, numpy_array
from fairlevel.members.protocol import Members

WORST_LOSS = 10.0
"""A configuration that ends with a loss of more times that of the constant prediction has diverged."""

RECORDS = 100
"""Entries of a trace of all steps."""


class Status(StrEnum):
    """How a configuration ended."""

    FINISHED = "finished"
    STOPPED_EARLY = "stopped early"
    DIVERGED = "diverged"


@dataclass(frozen=True)
class Trace:
    """The course of training. Shapes: step (record,), loss and penalty (record, config)."""

    step: Index
    loss: Array
    penalty: Array


class TraceRecorder:
    """The trace of a tile while it is trained, of about ``RECORDS`` entries where all ``steps`` are taken; ``advance``
    is called with the number of steps done whenever one is added.
    """

    def __init__(self, steps: int, advance: Callable[[int], None]) -> None:
        self._steps, self._advance = steps, advance
        self._every = max(1, steps // RECORDS)
        self._records: list[tuple[int, AnyArray, AnyArray]] = []

    def add(self, step: int, loss: AnyArray, penalty: AnyArray) -> None:
        """Loss and penalty before a step, (config,); most are left out. They may be overwritten by the next step."""
        if step % self._every == 0:
            copy = partial(namespace(loss).asarray, copy=True)
            self._records.append((step, copy(loss), copy(penalty)))
            self._advance(step)

    def end(self, step: int, loss: AnyArray, penalty: AnyArray) -> Trace:
        """The trace with the final figures, after so many steps."""
        self._advance(self._steps)
        steps, losses, penalties = zip(*self._records, (step, loss, penalty), strict=True)
        loss_records, penalty_records = (np.stack(list(map(numpy_array, column))) for column in (losses, penalties))
        return Trace(np.array(steps), loss_records, penalty_records)


@dataclass(frozen=True)
class HeldOutScores:
    """Loss + weight · penalty on held-out rows after some numbers of steps, 0 among them for learners that grow;
    infinite where training had ended. Without held-out rows there is no check. Shapes: step (check,), score (check,
    config).
    """

    step: Index
    score: Array

    @classmethod
    def of(cls, checks: Sequence[tuple[int, Array]], configs: int) -> HeldOutScores:
        """From pairs of a number of steps and scores, (config,)."""
        scores = np.array([score for _, score in checks], dtype=np.float64)
        return cls(np.array([step for step, _ in checks], dtype=np.int64), scores.reshape(len(checks), configs))


@dataclass(frozen=True)
class Trained:
    """A trained grid: one member per configuration, and how each ended.

    Shapes: loss, penalty and steps (config,); loss and penalty on the training rows at the end.
    """

    members: Members
    status: tuple[Status, ...]
    loss: Array
    penalty: Array
    steps: Index
    trace: Trace
    held_out: HeldOutScores

    @property
    def usable(self) -> Flags:
        """Which configurations did not diverge, (config,)."""
        return np.array([status is not Status.DIVERGED for status in self.status], dtype=np.bool_)

    @classmethod
    def joined(cls, parts: Sequence[Trained]) -> Trained:
        """One result from tiles. Those that stopped early have fewer records and checks: their last record is
        repeated, and their scores are infinite.
        """
        first, *others = parts
        traces, scores = [part.trace for part in parts], [part.held_out for part in parts]
        return cls(
            members=first.members.join([part.members for part in others]),
            status=tuple(status for part in parts for status in part.status),
            loss=np.concatenate([part.loss for part in parts]),
            penalty=np.concatenate([part.penalty for part in parts]),
            steps=np.concatenate([part.steps for part in parts]),
            trace=Trace(
                max((trace.step for trace in traces), key=len),
                _side_by_side([trace.loss for trace in traces], mode="edge"),
                _side_by_side([trace.penalty for trace in traces], mode="edge"),
            ),
            held_out=HeldOutScores(
                max((score.step for score in scores), key=len),
                _side_by_side([score.score for score in scores], mode="constant", constant_values=np.inf),
            ),
        )


def _side_by_side(tables: Sequence[Array], **fill: Any) -> Array:
    """Tables (row, config) of unequal lengths as one."""
    rows = max(map(len, tables))
    return np.hstack([np.pad(table, ((0, rows - len(table)), (0, 0)), **fill) for table in tables])

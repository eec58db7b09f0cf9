"""What training leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

import numpy as np

from fairlevel.arrays import AnyArray, Array, Flags, Index, namespace, numpy_array
from fairlevel.members.protocol import Members

WORST_LOSS = 10.0
"""A configuration that ends above this many times the loss of the constant prediction has diverged."""

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
    def of(cls, checks: Sequence[tuple[int, AnyArray]], configs: int) -> HeldOutScores:
        """From pairs of a number of steps and scores, (config,)."""
        scores = np.array([numpy_array(score) for _, score in checks], dtype=np.float64)
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
        """One result from tiles."""
        first, *others = parts
        return cls(
            members=first.members.join([part.members for part in others]),
            status=tuple(status for part in parts for status in part.status),
            loss=np.concatenate([part.loss for part in parts]),
            penalty=np.concatenate([part.penalty for part in parts]),
            steps=np.concatenate([part.steps for part in parts]),
            trace=_joined_traces(parts),
            held_out=_joined_scores(parts),
        )


def _joined_scores(parts: Sequence[Trained]) -> HeldOutScores:
    """Tiles that stopped early have fewer checks."""
    longest = max((part.held_out.step for part in parts), key=len)

    def extended(scores: Array) -> Array:
        return np.pad(scores, ((0, len(longest) - len(scores)), (0, 0)), constant_values=np.inf)

    return HeldOutScores(longest, np.concatenate([extended(part.held_out.score) for part in parts], axis=1))


def _joined_traces(parts: Sequence[Trained]) -> Trace:
    """Tiles that stopped early have shorter traces; their last record is repeated."""
    longest = max((part.trace.step for part in parts), key=len)

    def extended(values: Array) -> Array:
        return np.pad(values, ((0, len(longest) - len(values)), (0, 0)), mode="edge")

    return Trace(
        longest,
        np.concatenate([extended(part.trace.loss) for part in parts], axis=1),
        np.concatenate([extended(part.trace.penalty) for part in parts], axis=1),
    )

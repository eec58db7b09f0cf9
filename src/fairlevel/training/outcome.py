"""What training leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

from fairlevel.arrays import Flags
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

    step: Tensor
    loss: Tensor
    penalty: Tensor


class TraceRecorder:
    """The trace of a tile while it is trained, of about ``RECORDS`` entries where all ``steps`` are taken; ``advance``
    is called with the number of steps done whenever one is added.
    """

    def __init__(self, steps: int, advance: Callable[[int], None]) -> None:
        self._steps, self._advance = steps, advance
        self._every = max(1, steps // RECORDS)
        self._records: list[tuple[int, Tensor, Tensor]] = []

    def add(self, step: int, loss: Tensor, penalty: Tensor) -> None:
        """Loss and penalty before a step, (config,); most are left out. They may be overwritten by the next step."""
        if step % self._every == 0:
            self._records.append((step, loss.clone(), penalty.clone()))
            self._advance(step)

    def end(self, step: int, loss: Tensor, penalty: Tensor) -> Trace:
        """The trace with the final figures, after so many steps."""
        self._advance(self._steps)
        steps, losses, penalties = zip(*self._records, (step, loss, penalty), strict=True)
        return Trace(torch.tensor(steps), torch.stack(losses).cpu(), torch.stack(penalties).cpu())


@dataclass(frozen=True)
class HeldOutScores:
    """Loss + weight · penalty on held-out rows after some numbers of steps, 0 among them for learners that grow;
    infinite where training had ended. Without held-out rows there is no check. Shapes: step (check,), score (check,
    config).
    """

    step: Tensor
    score: Tensor

    @classmethod
    def of(cls, checks: Sequence[tuple[int, Tensor]], configs: int) -> HeldOutScores:
        """From pairs of a number of steps and scores, (config,)."""
        scores = [score.float().cpu() for _, score in checks] or [torch.empty(configs)]
        return cls(torch.tensor([step for step, _ in checks]), torch.stack(scores)[: len(checks)])


@dataclass(frozen=True)
class Trained:
    """A trained grid: one member per configuration, and how each ended.

    Shapes: loss, penalty and steps (config,); loss and penalty on the training rows at the end.
    """

    members: Members
    status: tuple[Status, ...]
    loss: Tensor
    penalty: Tensor
    steps: Tensor
    trace: Trace
    held_out: HeldOutScores

    @property
    def usable(self) -> Flags:
        """Which configurations did not diverge, (config,)."""
        return torch.tensor([status is not Status.DIVERGED for status in self.status], dtype=torch.bool).numpy()

    @classmethod
    def joined(cls, parts: Sequence[Trained]) -> Trained:
        """One result from tiles."""
        first, *others = parts
        return cls(
            members=first.members.join([part.members for part in others]),
            status=tuple(status for part in parts for status in part.status),
            loss=torch.cat([part.loss for part in parts]),
            penalty=torch.cat([part.penalty for part in parts]),
            steps=torch.cat([part.steps for part in parts]),
            trace=_joined_traces(parts),
            held_out=_joined_scores(parts),
        )


def _joined_scores(parts: Sequence[Trained]) -> HeldOutScores:
    """Tiles that stopped early have fewer checks."""
    longest = max((part.held_out.step for part in parts), key=len)

    def extended(scores: Tensor) -> Tensor:
        return torch.cat([scores, scores.new_full((len(longest) - len(scores), scores.shape[1]), torch.inf)])

    return HeldOutScores(longest, torch.cat([extended(part.held_out.score) for part in parts], dim=1))


def _joined_traces(parts: Sequence[Trained]) -> Trace:
    """Tiles that stopped early have shorter traces; their last record is repeated."""
    longest = max((part.trace.step for part in parts), key=len)

    def extended(values: Tensor) -> Tensor:
        return torch.cat([values, values[-1:].expand(len(longest) - len(values), -1)])

    return Trace(
        longest,
        torch.cat([extended(part.trace.loss) for part in parts], dim=1),
        torch.cat([extended(part.trace.penalty) for part in parts], dim=1),
    )

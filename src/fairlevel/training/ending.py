"""When the configurations of a tile end: after all steps, after their own numbers of steps, or by held-out rows."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from fairlevel.arrays import Array, Flags, Index, numpy_array
from fairlevel.predictors.protocol import Learner
from fairlevel.training.objective import HeldOutRows, Objective
from fairlevel.training.outcome import HeldOutScores

CHECK_EVERY = 10  # steps


class Ended(NamedTuple):
    """How the configurations ended: the number of steps behind the final state of each, whether it stopped early, and
    whether its held-out score was ever finite, true where no rows are held out; each (config,).
    """

    steps: Index
    early: Flags
    sound: Flags
    held_out: HeldOutScores


class Ending(Protocol):
    """When each configuration of a tile ends, and to which of its states it returns."""

    @property
    def most_steps(self) -> int:
        """How many steps may be taken."""

    def before(self, learner: Learner, state: Any) -> None:
        """Called before the first step, with the penalty's state."""

    def after(self, taken: int, learner: Learner, state: Any) -> bool:
        """Called when ``taken`` steps are done; whether all configurations have ended."""

    def final(self, learner: Learner) -> Ended:
        """Called once, after the last step: every configuration returns to its final state."""


class AfterAllSteps:
    """Every configuration takes all steps."""

    def __init__(self, configs: int, steps: int) -> None:
        self.most_steps = steps
        self._ends = np.full(configs, steps)

    def before(self, learner: Learner, state: Any) -> None:
        """Nothing is kept."""

    def after(self, taken: int, learner: Learner, state: Any) -> bool:
        return False

    def final(self, learner: Learner) -> Ended:
        return _without_held_out(self._ends)


class AfterGivenSteps:
    """Each configuration takes its own number of steps, ``ends`` (config,)."""

    def __init__(self, ends: Index) -> None:
        self.most_steps = max(1, int(ends.max()))
        self._ends = ends

    def before(self, learner: Learner, state: Any) -> None:
        self._end(0, learner)

    def after(self, taken: int, learner: Learner, state: Any) -> bool:
        self._end(taken, learner)
        return False

    def final(self, learner: Learner) -> Ended:
        learner.restore()
        return _without_held_out(self._ends)

    def _end(self, taken: int, learner: Learner) -> None:
        now = self._ends == taken
        learner.snapshot(now)
        learner.finish(now)


class EarlyStopping:
    """The best held-out score of each configuration and the step that reached it; each (config,). ``patience`` is the
    number of checks without a better score after which a configuration ends.
    """

    def __init__(self, configs: int, patience: int) -> None:
        self._patience = patience
        self.score = np.full(configs, np.inf)
        self.step = np.zeros(configs, dtype=np.int64)
        self._waited = np.zeros(configs, dtype=np.int64)

    def improved(self, score: Array, step: int) -> Flags:
        """Which configurations are better than before, (config,) of booleans.

        A configuration whose patience is used up never improves again, whatever the others still do.
        """
        better = (score < self.score) & (self._waited < self._patience)
        self.score = np.where(better, score, self.score)
        self.step = np.where(better, step, self.step)
        self._waited = np.where(better, 0, self._waited + 1)
        return better

    @property
    def done(self) -> Flags:
        """Whose patience is used up, (config,) of booleans."""
        return self._waited >= self._patience


class OnHeldOutRows:
    """Each configuration returns to its state with the best loss + weight · penalty on held-out rows, which is computed
    every few steps; ``patience`` checks without a better one end it.
    """

    def __init__(self, steps: int, patience: int, objective: Objective, held: HeldOutRows) -> None:
        self.most_steps = steps
        self._objective, self._held = objective, held
        self._stopping = EarlyStopping(len(objective.weight), patience)
        self._checks: list[tuple[int, Array]] = []

    def before(self, learner: Learner, state: Any) -> None:
        if learner.grows:
            self._check(0, learner, state)

    def after(self, taken: int, learner: Learner, state: Any) -> bool:
        if taken % CHECK_EVERY and taken != self.most_steps:
            return False
        learner.snapshot(self._stopping.improved(self._check(taken, learner, state), taken))
        learner.finish(self._stopping.done)
        return bool(self._stopping.done.all())

    def final(self, learner: Learner) -> Ended:
        learner.restore()
        stopping = self._stopping
        scores = HeldOutScores.of(self._checks, len(stopping.step))
        return Ended(stopping.step, stopping.done, np.isfinite(stopping.score), scores)

    def _check(self, taken: int, learner: Learner, state: Any) -> Array:
        score = numpy_array(self._objective.on_held_out(self._held, learner, state))
        score = np.where(self._stopping.done, np.inf, score)
        self._checks.append((taken, score))
        return score


def _without_held_out(steps: Index) -> Ended:
    early = np.zeros(len(steps), dtype=np.bool_)
    return Ended(steps, early, ~early, HeldOutScores.of([], len(steps)))

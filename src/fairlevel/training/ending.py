"""When the configurations of a tile end: after their own numbers of steps, or by held-out rows.

The last snapshot of a configuration is its final state. ``steps`` is the number of steps behind it, ``early`` whether
held-out rows ended it, ``sound`` whether its held-out score was ever finite, true where no rows are held out; each
(config,). ``after`` is called when so many steps are done, 0 included, and says whether all configurations have ended.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlevel.arrays import AnyArray, Array, Flags, Index, namespace, numpy_array
from fairlevel.predictors.protocol import Learner
from fairlevel.training.objective import Objective, weighted
from fairlevel.training.outcome import HeldOutScores

CHECK_EVERY = 10  # steps


class AfterGivenSteps:
    """Each configuration takes its own number of steps, (config,)."""

    def __init__(self, steps: Index) -> None:
        self.most_steps, self.steps = max(1, int(steps.max())), steps
        self.early, self.sound = np.zeros(len(steps), dtype=np.bool_), np.ones(len(steps), dtype=np.bool_)
        self.held_out = HeldOutScores.of([], len(steps))

    def after(self, taken: int, learner: Learner, state: Any) -> bool:
        now = self.steps == taken
        if now.any():
            learner.snapshot(now)
            learner.finish(now)
        return False


class OnHeldOutRows:
    """Each configuration returns to its state with the best loss + weight · penalty on held-out rows, which is computed
    every few steps; ``patience`` checks without a better one end it. ``first`` is the first step after which it is.

    Networks start with differences between profiles, which few held-out rows may miss by chance: with ``training`` the
    penalty counts as no less than on those rows, where training lowers it.
    """

    def __init__(
        self, most_steps: int, patience: int, weight: AnyArray, held: Objective, training: Objective | None, first: int
    ) -> None:
        self.most_steps, self._patience, self._weight = most_steps, patience, weight
        self._held, self._training, self._first = held, training, first
        configs = len(weight)
        self._score = np.full(configs, np.inf)
        self.steps = np.zeros(configs, dtype=np.int64)
        self._waited = np.zeros(configs, dtype=np.int64)
        self._checks: list[tuple[int, Array]] = []

    @property
    def early(self) -> Flags:
        """Whose patience is used up: they never improve again, whatever the others still do."""
        return self._waited >= self._patience

    @property
    def sound(self) -> Flags:
        finite: Flags = np.isfinite(self._score)
        return finite

    @property
    def held_out(self) -> HeldOutScores:
        return HeldOutScores.of(self._checks, len(self.steps))

    def after(self, taken: int, learner: Learner, state: Any) -> bool:
        if taken < self._first or (taken % CHECK_EVERY and taken != self.most_steps):
            return False
        score = np.where(self.early, np.inf, numpy_array(self._on_held_out(learner, state)))
        self._checks.append((taken, score))
        if not taken:
            return False
        better = score < self._score
        self._score = np.where(better, score, self._score)
        self.steps = np.where(better, taken, self.steps)
        self._waited = np.where(better, 0, self._waited + 1)
        learner.snapshot(better)
        learner.finish(self.early)
        return bool(self.early.all())

    def _on_held_out(self, learner: Learner, state: Any) -> AnyArray:
        """Loss + weight · penalty of the present models on held-out rows, (config,)."""
        score = learner.predict(self._held.inputs)
        value = self._held.held_out_disparity(score, state)
        if self._training is not None:
            on_training = self._training.held_out_disparity(learner.predict(self._training.inputs), state)
            value = namespace(value).maximum(value, on_training)
        return self._held.error(score) + weighted(self._weight, value)


Ending = AfterGivenSteps | OnHeldOutRows

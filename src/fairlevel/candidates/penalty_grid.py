"""A penalty over weights and settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.candidates.candidate_set import CandidateKey, CandidateSet, TrainingHistory, candidate_table
from fairlevel.candidates.protocol import PLAIN_RATE, CandidateRows, Limits, Report, TrainingSetup, portion
from fairlevel.exceptions import InvalidInput, InvalidType
from fairlevel.links import IDENTITY
from fairlevel.members.linked import LinkedMembers
from fairlevel.penalties import ClosedFBO, NoPenalty, Penalty
from fairlevel.predictors import Configurations
from fairlevel.training.engine import Trainer
from fairlevel.training.outcome import Trained


class Configuration(NamedTuple):
    """The number of a setting, and a penalty weight."""

    setting: int
    weight: float


WEIGHTS = (0.0, 0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 150.0, 400.0)


@dataclass(frozen=True)
class Setting:
    """One configuration apart from the penalty weight: the penalty and the outer step size."""

    penalty: Penalty = ClosedFBO()
    learning_rate: float = PLAIN_RATE

    def rate(self, weight: float) -> float:
        """The step size at weight 0; training divides it by the curvature that the weight brings."""
        return self.learning_rate


@dataclass(frozen=True)
class PlainSteps(Setting):
    """The same step size at every weight, as the paper prints it for FBO and ITD, whose steps training divides by 1 +
    weight; large weights diverge.
    """

    def rate(self, weight: float) -> float:
        return self.learning_rate * (1 + weight)


@dataclass(frozen=True)
class PenaltyGrid:
    """Settings × weights, one model each. The most sensible settings come first: small limits take only those."""

    settings: tuple[Setting, ...] = (Setting(),)
    weights: tuple[float, ...] = WEIGHTS

    def __post_init__(self) -> None:
        check_weights(self.weights)
        if not isinstance(self.settings, tuple) or not all(isinstance(setting, Setting) for setting in self.settings):
            raise InvalidType(
                f"settings={self.settings!r} was given; a tuple of Setting objects is needed, or "
                "PenaltyGrid.over(penalty, weights) for one penalty."
            )

    @classmethod
    def over(cls, penalty: Penalty, weights: Sequence[float] = WEIGHTS) -> PenaltyGrid:
        """A grid over the weight of one penalty."""
        return cls((Setting(penalty),), tuple(weights))

    def possible(self, rows: CandidateRows, setup: TrainingSetup) -> bool:
        return rows.suits(setup.predictor)

    def train(self, rows: CandidateRows, setup: TrainingSetup, limits: Limits, report: Report) -> CandidateSet:
        settings = self.settings[: limits.settings]
        weights = coarse(self.weights, self.most_weights(limits))
        pairs = [Configuration(*pair) for pair in product(range(len(settings)), weights)]
        return self.trained(pairs, rows, setup, report)

    def most_weights(self, limits: Limits) -> int:
        """Per setting; fewer settings allow more of them."""
        return max(limits.weights, limits.models // len(self.settings[: limits.settings]))

    def trained(
        self, pairs: Sequence[Configuration], rows: CandidateRows, setup: TrainingSetup, report: Report
    ) -> CandidateSet:
        """One model per pair; those that share a penalty train as one program."""
        penalties: list[Penalty] = []
        for setting in self.settings:
            if setting.penalty not in penalties:
                penalties.append(setting.penalty)
        by_penalty = [[pair for pair in pairs if self.settings[pair.setting].penalty == one] for one in penalties]
        groups = [group for group in by_penalty if group]
        parts = [
            self._train_together(group, rows, setup, portion(report, number, len(groups)))
            for number, group in enumerate(groups)
        ]
        report(1.0)
        return reduce(CandidateSet.joined, parts)

    def _train_together(
        self, group: Sequence[Configuration], rows: CandidateRows, setup: TrainingSetup, report: Report
    ) -> CandidateSet:
        settings = [self.settings[pair.setting] for pair in group]
        rates = np.array([setting.rate(pair.weight) for setting, pair in zip(settings, group, strict=True)])
        rates *= setup.rate_scale
        known = rows.training.has_attributes
        penalty = rows.training.tuned(settings[0].penalty, setup.seed) if known else NoPenalty()
        keys = [CandidateKey(penalty.name, float(pair.weight), pair.setting) for pair in group]
        steps = None if rows.steps is None else np.array([rows.steps[key] for key in keys])
        trainer = Trainer(setup.predictor, penalty, setup.optimizer, setup.loss, setup.seed, setup.device)
        grid = replace(Configurations.of([pair.weight for pair in group], rates), steps=steps)
        trained = trainer.train(rows.training, grid, rows.held_out, lambda done, total: report(done / total))
        return _candidates(trained, keys, rates, setup)


def _candidates(trained: Trained, keys: Sequence[CandidateKey], rates: Array, setup: TrainingSetup) -> CandidateSet:
    table = candidate_table(
        keys,
        setup.predictor.name,
        trained.steps,
        learning_rate=rates if setup.predictor.uses_optimizer else np.nan,
        status=[status.value for status in trained.status],
        loss=trained.loss.astype(np.float64),
    )
    usable = np.flatnonzero(trained.usable)
    link: Any = setup.loss.link
    members = trained.members.take(usable)
    group = members if link is IDENTITY else LinkedMembers(members, link)
    histories = tuple(_history(trained, config, setup.loss.figure) for config in range(len(keys)))
    return CandidateSet(table, (group,), np.eye(len(usable)), histories)


def _history(trained: Trained, config: int, figure: str) -> TrainingHistory:
    trace, held_out = trained.trace, trained.held_out
    columns = {"step": trace.step, figure: trace.loss[:, config], "penalty": trace.penalty[:, config]}
    return TrainingHistory(pd.DataFrame(columns), pd.Series(held_out.score[:, config], index=held_out.step))


def check_weights(weights: Sequence[float]) -> Array:
    """Penalty weights of a grid as an array, if they are finite, not negative and strictly ascending."""
    values = np.asarray(weights, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all() or (values < 0).any():
        raise InvalidInput(f"weights={values.tolist()} were given; finite numbers ≥ 0 are needed, such as [0, 1, 10].")
    if (np.diff(values) <= 0).any():
        raise InvalidInput(f"weights={values.tolist()} were given; each must be larger than the one before it.")
    return values


def coarse(weights: Sequence[float], count: int) -> Array:
    """``count`` of the weights, from the first to the last, evenly spaced in the list: the grid before refinement."""
    values = check_weights(weights)
    if not 2 <= count < len(values):
        return values if count >= len(values) else values[:1]
    positions = [0, *(max(k, len(values) * k // (count - 1) - 1) for k in range(1, count))]
    spread: Array = values[positions]
    return spread

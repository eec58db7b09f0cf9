"""A penalty over weights and settings: a coarse grid, then weights where the validation front has gaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.candidates.candidate_set import CandidateKey, CandidateSet, TrainingHistory, candidate_table
from fairlevel.candidates.protocol import PLAIN_RATE, CandidateRows, Limits, Report, TrainingSetup, portion
from fairlevel.exceptions import InvalidType
from fairlevel.fronts.refinement import Proposal, check_weights, coarse, propose
from fairlevel.links import IDENTITY
from fairlevel.members.linked import LinkedMembers
from fairlevel.penalties import ClosedFBO, NoPenalty, Penalty
from fairlevel.predictors import Configurations
from fairlevel.training.engine import Trainer
from fairlevel.training.outcome import Trained

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
    """The same step size at every weight, as the paper prints it for FBO and ITD; large weights diverge."""

    def rate(self, weight: float) -> float:
        return self.learning_rate * (1 + weight)


@dataclass(frozen=True)
class PenaltyGrid:
    """Settings × weights, one model each. The most sensible settings come first: small limits take only those."""

    settings: tuple[Setting, ...] = (Setting(),)
    weights: tuple[float, ...] = WEIGHTS

    def __post_init__(self) -> None:
        check_weights(self.weights)
        if not isinstance(self.settings, tuple) or not all(isinstance(each, Setting) for each in self.settings):
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
        most = max(limits.weights, limits.models // len(settings))  # fewer settings allow more weights
        rounds = limits.rounds if setup.evaluate is not None else 0
        weights = coarse(self.weights, min(limits.coarse, most) if rounds else most)
        grid = [Proposal(*pair) for pair in product(range(len(settings)), weights)]
        found = _train(rows, settings, grid, setup, portion(report, 0, 1 + rounds))
        for number in range(rounds):
            count = -(-(limits.models - len(found)) // (rounds - number))
            proposals = propose(found.table, count, most)
            if not proposals:
                break
            more = _train(rows, settings, proposals, setup, portion(report, 1 + number, 1 + rounds))
            found = found.joined(more)
        report(1.0)
        return found


def _train(
    rows: CandidateRows,
    settings: Sequence[Setting],
    proposals: Sequence[Proposal],
    setup: TrainingSetup,
    report: Report,
) -> CandidateSet:
    """Train proposals, those that share a penalty as one program."""
    groups = list(_by_penalty(settings, proposals))
    parts = [
        _train_together(rows, penalty, settings, group, setup, portion(report, number, len(groups)))
        for number, (penalty, group) in enumerate(groups)
    ]
    found = reduce(CandidateSet.joined, parts)
    return setup.evaluated(found)


def _train_together(
    rows: CandidateRows,
    penalty: Penalty,
    settings: Sequence[Setting],
    group: Sequence[Proposal],
    setup: TrainingSetup,
    report: Report,
) -> CandidateSet:
    chosen = [settings[proposal.setting] for proposal in group]
    rates = np.array([setting.rate(proposal.weight) for setting, proposal in zip(chosen, group, strict=True)])
    rates *= setup.rate_scale
    penalty = rows.training.tuned(penalty, setup.seed) if rows.training.has_attributes else NoPenalty()
    keys = [CandidateKey(penalty.name, float(proposal.weight), proposal.setting) for proposal in group]
    steps = None if rows.steps is None else np.array([rows.steps[key] for key in keys])
    trainer = Trainer(setup.predictor, penalty, setup.optimizer, setup.loss, setup.seed, setup.device)
    grid = replace(Configurations.of([proposal.weight for proposal in group], rates), steps=steps)
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


def _by_penalty(settings: Sequence[Setting], proposals: Sequence[Proposal]) -> Iterator[tuple[Penalty, list[Proposal]]]:
    """Proposals whose settings hold equal penalties train together."""
    penalties: list[Penalty] = []
    for setting in settings:
        if setting.penalty not in penalties:
            penalties.append(setting.penalty)
    for penalty in penalties:
        group = [proposal for proposal in proposals if settings[proposal.setting].penalty == penalty]
        if group:
            yield penalty, group

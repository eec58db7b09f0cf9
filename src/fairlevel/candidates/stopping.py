"""When training on all rows at every step ends: three classes with one method, and how held-out rows decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd

from fairlevel.arrays import Array, Index
from fairlevel.candidates.candidate_set import CandidateKey, CandidateSet
from fairlevel.candidates.fitting import FittedCandidates, ScaledTable, fitted_on_all_rows, split_rows
from fairlevel.candidates.protocol import CandidateSource, Limits, Report, TrainingSetup, portion
from fairlevel.data.splitting import Splitting
from fairlevel.data.table import Table

LARGEST_SHARE = 1e9  # times the score of the constant; squares of larger ones overflow
TOLERATED = 0.5  # standard errors that fewer steps may be worse
WORTH = 0.02  # of the held-out score of the usual settings: others that gain less are not chosen

Split = tuple[Index, Index]
"""Row numbers to train on, shuffled, and those held out."""


class Stopping(Protocol):
    """When training on the rows of a table ends."""

    def fit(
        self, table: Table, source: CandidateSource, setup: TrainingSetup, limits: Limits, report: Report
    ) -> FittedCandidates:
        """The candidates of a source, trained."""


@dataclass(frozen=True)
class AllSteps:
    """All rows train, and every candidate takes all its steps."""

    def fit(
        self, table: Table, source: CandidateSource, setup: TrainingSetup, limits: Limits, report: Report
    ) -> FittedCandidates:
        return fitted_on_all_rows(table, source, setup, limits, None, report)


@dataclass(frozen=True)
class HeldOut:
    """A share of the rows is held out and decides for each candidate; the other rows train."""

    fraction: float

    def fit(
        self, table: Table, source: CandidateSource, setup: TrainingSetup, limits: Limits, report: Report
    ) -> FittedCandidates:
        scaled = ScaledTable.of(table)
        kept, held = split_rows(scaled.splits, self.fraction, setup.seed)
        return scaled.fitted(source.train(scaled.rows(kept, held), setup, limits, report))


@dataclass(frozen=True)
class RefitAfter:
    """Trainings on ``splits`` decide, then all rows train for as many steps as were best. Among several ``setups``,
    those with the best held-out score are taken.
    """

    splits: Callable[[Splitting, int], list[Split]]
    setups: Callable[[TrainingSetup], list[TrainingSetup]]

    def fit(
        self, table: Table, source: CandidateSource, setup: TrainingSetup, limits: Limits, report: Report
    ) -> FittedCandidates:
        scaled, setups = ScaledTable.of(table), self.setups(setup)
        splits = self.splits(scaled.splits, setup.seed)
        trainings = len(splits) * len(setups) + 1
        shares = (portion(report, number, trainings) for number in range(trainings))
        found = []
        for kept, held in splits:
            rows = scaled.rows(kept, held)
            found.append([source.train(rows, each, limits, next(shares)) for each in setups])
        by_setup = list(zip(*found, strict=True))
        best = best_setup(by_setup)
        return fitted_on_all_rows(table, source, setups[best], limits, best_steps(by_setup[best]), next(shares))


@dataclass(frozen=True)
class OneSplit:
    """A share of the rows is held out, once."""

    fraction: float

    def __call__(self, splits: Splitting, seed: int) -> list[Split]:
        return [split_rows(splits, self.fraction, seed)]


@dataclass(frozen=True)
class EveryRowOnce:
    """As many folds as the fraction says, so that every row is held out once: a few dozen are too few to decide."""

    fraction: float

    def __call__(self, splits: Splitting, seed: int) -> list[Split]:
        count, order = round(1 / self.fraction), np.random.default_rng(seed).permutation(len(splits))
        fold = splits.folds(count, seed)
        return [(order[fold[order] != number], order[fold[order] == number]) for number in range(count)]


def as_given(setup: TrainingSetup) -> list[TrainingSetup]:
    """The setup itself, with nothing for held-out rows to choose."""
    return [setup]


def best_setup(found: Sequence[Sequence[CandidateSet]]) -> int:
    """The number of the setup with the lowest held-out score; the first, which is the usual one, unless that is higher
    by more than a fiftieth. ``found`` holds the trainings of each setup.
    """
    lowest = [[history.held_out.min() for each in own for history in each.histories] for own in found]
    scores = [float(np.mean(own)) for own in lowest]
    best = int(np.argmin(scores))
    return best if scores[best] < (1 - WORTH) * scores[0] else 0


def best_steps(found: Sequence[CandidateSet]) -> dict[CandidateKey, int]:
    """For each candidate of several trainings the number of steps that :func:`fewest_steps` finds."""
    histories = zip(*(each.histories for each in found), strict=True)
    held_out = [pd.concat([history.held_out for history in own], axis=1) for own in histories]
    steps = [fewest_steps(each.index.to_numpy(), each.to_numpy()) for each in held_out]
    return dict(zip(found[0].keys, steps, strict=True))


def fewest_steps(steps: Index, scores: Array) -> int:
    """The fewest steps whose held-out score is within half a standard error of the best mean over trainings.

    Only steps that every training has reached count. Scores are shares of the first one, which is that of the
    constant for boosters: a fold with a target far out would else decide alone. The standard error is that of the
    difference to the best, from training to training. Shapes: steps (check,), scores (check, training).
    """
    sound = scores[:, np.isfinite(scores[0])]
    if not sound.size:
        return int(steps[-1])  # every training has diverged, and so will the last one
    reached = np.isfinite(sound).all(axis=1)
    shares = (sound[reached] / np.maximum(sound[0], np.finfo(np.float64).tiny)).clip(-LARGEST_SHARE, LARGEST_SHARE)
    excess = shares - shares[shares.mean(axis=1).argmin()]
    count = excess.shape[1]
    error = excess.std(axis=1, ddof=1) / np.sqrt(count) if count > 1 else np.zeros(len(excess))
    return int(steps[reached][excess.mean(axis=1) <= TOLERATED * error][0])

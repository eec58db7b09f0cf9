"""From a table to trained candidates: split, scale, train.

Every fit of an estimator goes through here, with a weight or a budget, on all rows or in batches; a study uses the same
:class:`Scaling`. Scalers are fitted on all rows of the fit, early-stopping rows included. Predictors get features as
given, and the scaler of features. In batches, held-out attributes are scaled by the first training rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.candidates.candidate_set import CandidateKey, CandidateSet
from fairlevel.candidates.protocol import CandidateRows, CandidateSource, Limits, Report, TrainingSetup, portion
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.factors import LegitimateFactors, attributes_within
from fairlevel.data.encoding import Encoding
from fairlevel.data.scaling import Scaler
from fairlevel.data.splitting import Splitting
from fairlevel.data.table import Table
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.stacking import without_small_proportions
from fairlevel.members.protocol import Rescalable
from fairlevel.models.model import Model
from fairlevel.training.ring import RingWindows
from fairlevel.training.rows import AllRows, TrainingRows

MOST_HELD_OUT = 5_000  # rows for early stopping of training in batches: they are evaluated every few steps
HOPELESS = 1e9  # times the score of the constant; squares of larger ones overflow
TOLERATED = 0.5  # standard errors that fewer steps may be worse
WORTH = 0.02  # of the held-out score of the usual settings: others that gain less are not chosen


@dataclass(frozen=True)
class Scaling:
    """Scalers of x, y and attributes, and the functions of legitimate factors."""

    x: Scaler
    y: Scaler
    attributes: Scaler | None
    factors: LegitimateFactors | None = None

    @classmethod
    def of(cls, table: Table, clip: float = np.inf) -> Scaling:
        """Fitted on all rows of a table; x and attributes are clipped at ± ``clip``. Features with gaps are left as
        they are: only predictors that need no scaling read them.
        """
        weight, of_attributes = table.row_weight, table.attribute_weight
        attributes = None if table.sensitive is None else Scaler.fit(table.sensitive.values, of_attributes, clip)
        x = Scaler.identity(table.x.shape[1]) if table.gaps else Scaler.fit(table.x, weight, clip)
        factors = None if table.factors is None else LegitimateFactors.of(table.factors, of_attributes)
        return cls(x, Scaler.fit(table.y, weight), attributes, factors)

    def rows(self, table: Table, index: Index, rows_in: int = 0) -> TrainingRows:
        """Some rows of a table, features as given; the first ``rows_in`` are IN: penalties that split rows fit the
        conditional mean on them and carry accuracy on the others (OUT).
        """
        attributes = None
        weight, counted = (None if own is None else own[index] for own in (table.row_weight, table.attribute_weight))
        if table.sensitive is not None and self.attributes is not None:
            values = self.attributes.transform(table.sensitive.values[index])
            attributes = Attributes(values, row_weight=counted)
            if self.factors is not None and table.factors is not None:
                attributes = self.factors.attributes(values, table.factors[index], counted)
        return TrainingRows(table.x[index], self.y.transform(table.y[index]), attributes, rows_in, weight)


def attributes_of(table: Table) -> Attributes:
    """The attributes of a table that must have some, as given; within legitimate factors where there are some."""
    return attributes_within(table.attributes, table.factors, table.attribute_weight, table.splits.groups)


@dataclass(frozen=True)
class FittedCandidates:
    """Trained candidates, diverged ones included, the scaler of y, and how columns were encoded."""

    candidates: CandidateSet
    y_scaler: Scaler
    encoding: Encoding | None = None

    def features(self, x: Array) -> Array:
        """What predictors see of rows of a table: (row, column) -> (row, feature)."""
        return x if self.encoding is None else self.encoding.transform(x)

    def predict(self, x: Array) -> Array:
        """(row, column) -> (candidate, row), in units of y; NaN for diverged candidates."""
        return self.y_scaler.inverse(self.candidates.predict(self.features(x)))

    def model(self, proportions: Array) -> Model:
        """A mixture as one model; proportions (usable candidate,), of which those below 0.001 are dropped."""
        groups, of_members = self.candidates.mixture(without_small_proportions(proportions))
        if len(of_members) == 1 and isinstance(groups[0], Rescalable):
            return Model((groups[0].in_units(self.y_scaler),), of_members, Scaler(np.asarray(0.0), np.asarray(1.0)))
        return Model(groups, of_members, self.y_scaler)


@dataclass(frozen=True)
class Stopping:
    """When training ends: ``fraction`` of the rows are held out and decide; with ``refit`` all rows then train again
    for as many steps as were best. Without a fraction, training takes all its steps. Where ``every`` row is held out
    once, as many folds as the fraction says are trained, and the steps are best for their mean: a few dozen rows alone
    would follow chance. With ``choose`` the held-out rows also decide about settings that the predictor leaves open.
    """

    fraction: float | None
    refit: bool = False
    every: bool = False
    choose: bool = False

    def parts(self, splits: Splitting, seed: int) -> list[tuple[Index, Index | None]]:
        """Row numbers to train on, shuffled, and those held out, for each training."""
        if not self.every or self.fraction is None:
            return [split_rows(splits, self.fraction, seed)]
        count, order = round(1 / self.fraction), np.random.default_rng(seed).permutation(len(splits))
        fold = splits.folds(count, seed)
        return [(order[fold[order] != number], order[fold[order] == number]) for number in range(count)]


def fit_candidates(
    table: Table,
    source: CandidateSource,
    setup: TrainingSetup,
    limits: Limits,
    stopping: Stopping,
    report: Report,
) -> FittedCandidates:
    """Train on all rows of a table at every step; some rows decide when to stop, and with what, if asked."""
    given, (table, encoding) = table, table.encoded()
    scaling, parts, setups = Scaling.of(table), stopping.parts(table.splits, setup.seed), [setup]
    if stopping.choose:
        setups = setup.choices()
    trainings = len(parts) * len(setups) + stopping.refit
    portions = (portion(report, number, trainings) for number in range(trainings))
    found: list[list[CandidateSet]] = []
    for kept, held in parts:
        held_out = None if held is None else scaling.rows(table, held)
        rows = replace(candidate_rows(table, scaling, kept), held_out=held_out)
        found.append([source.train(rows, each, limits, next(portions)) for each in setups])
    if stopping.refit:
        by_setup = list(zip(*found, strict=True))
        best = best_setup(by_setup)
        return refitted(given, source, setups[best], limits, best_steps(by_setup[best]), next(portions))
    return FittedCandidates(found[0][0], scaling.y, encoding)


def refitted(
    table: Table,
    source: CandidateSource,
    setup: TrainingSetup,
    limits: Limits,
    steps: Mapping[CandidateKey, int],
    report: Report,
) -> FittedCandidates:
    """All rows train, each candidate for its own number of steps."""
    table, encoding = table.encoded()
    scaling = Scaling.of(table)
    every = np.random.default_rng(setup.seed).permutation(len(table))
    rows = replace(candidate_rows(table, scaling, every), steps=steps)
    return FittedCandidates(source.train(rows, setup, limits, report), scaling.y, encoding)


def best_setup(found: Sequence[Sequence[CandidateSet]]) -> int:
    """The number of the setup with the lowest held-out score; the first, which is the usual one, unless that is higher
    by more than a fiftieth. ``found`` holds the trainings of each setup.
    """
    lowest = [[course.held_out.min() for each in own for course in each.courses] for own in found]
    scores = [float(np.mean(own)) for own in lowest]
    best = int(np.argmin(scores))
    return best if scores[best] < (1 - WORTH) * scores[0] else 0


def best_steps(found: Sequence[CandidateSet]) -> dict[CandidateKey, int]:
    """For each candidate of several trainings the number of steps that :func:`fewest_steps` finds."""
    courses = zip(*(each.courses for each in found), strict=True)
    held_out = [pd.concat([course.held_out for course in own], axis=1) for own in courses]
    steps = [fewest_steps(each.index.to_numpy(), each.to_numpy()) for each in held_out]
    return dict(zip(found[0].keys, steps, strict=True))


def fewest_steps(steps: Index, scores: Array) -> int:
    """The fewest steps whose held-out score is within half a standard error of the best mean over trainings.

    Only steps that every training has reached count. Scores are relative to the first one, which is that of the
    constant for boosters: a fold with a target far out would else decide alone. The standard error is that of the
    difference to the best, from training to training. Shapes: steps (check,), scores (check, training).
    """
    sound = scores[:, np.isfinite(scores[0])]
    if not sound.size:
        return int(steps[-1])  # every training has diverged, and so will the last one
    reached = np.isfinite(sound).all(axis=1)
    relative = (sound[reached] / np.maximum(sound[0], np.finfo(np.float64).tiny)).clip(-HOPELESS, HOPELESS)
    excess = relative - relative[relative.mean(axis=1).argmin()]
    count = excess.shape[1]
    error = excess.std(axis=1, ddof=1) / np.sqrt(count) if count > 1 else np.zeros(len(excess))
    return int(steps[reached][excess.mean(axis=1) <= TOLERATED * error][0])


def candidate_rows(table: Table, scaling: Scaling, index: Index) -> CandidateRows:
    """Some rows of a table to train on; the first half of them are IN."""
    training = AllRows(scaling.rows(table, index, rows_in=len(index) // 2), x_scaler=scaling.x)
    return CandidateRows(training, categorical=table.categorical, gaps=table.gaps, y_scaler=scaling.y)


def fit_in_batches(
    table: Table,
    source: CandidateSource,
    setup: TrainingSetup,
    limits: Limits,
    validation_fraction: float | None,
    batch_size: Any,
    report: Report,
) -> FittedCandidates:
    """Train on ``batch_size`` rows at a time: features are read when their batch comes, never all at once."""
    whole = {
        "sample_weight": table.row_weight,
        "given": table.factors,
        "groups or time": table.splitting,
        "an unknown attribute (NaN)": table.known,
    }
    for name, part in whole.items():
        if part is not None:
            raise InvalidInput(f"{name} was given with batch_size; it needs all rows at once: leave batch_size=None.")
    if table.encoding is not None:
        raise InvalidInput(
            "encoder was given with batch_size; encode X before: make_pipeline(TableEncoder(), FairRegressor(...))."
        )
    if not isinstance(batch_size, int | np.integer) or isinstance(batch_size, bool) or batch_size < 2:
        raise InvalidInput(f"batch_size={batch_size!r} was given; a whole number ≥ 2 is needed, such as 4096.")
    if not setup.predictor.batches:
        raise InvalidInput(
            f"predictor={setup.predictor.name!r} needs all rows at once; leave batch_size=None, or use predictor='mlp'."
        )
    kept, held = split_rows(table.splits, validation_fraction, setup.seed, MOST_HELD_OUT)
    size = min(int(batch_size), len(kept))
    order = RingWindows.ring_order(kept, size, setup.seed, _values(table))
    y_scaler = Scaler.fit(table.y)
    target = torch.from_numpy(y_scaler.transform(table.y)[order]).float()
    with ThreadPoolExecutor(1) as pool:  # scaling columns keeps one core busy while functions of A are found
        x_scaler: Future[Scaler] = pool.submit(Scaler.fit_blocks, table.x)
        ring = RingWindows(order, size, _taking(table.x, order), target, _values(table), x_scaler.result)
        held_out = None
        if held is not None:
            sample = table.rows(order[ring.first])
            scaler = None if sample.sensitive is None else Scaler.fit(sample.sensitive.values)
            held_out = Scaling(Scaler.identity(table.x.shape[1]), y_scaler, scaler).rows(table, held)
        trained = source.train(CandidateRows(ring, held_out), setup, limits, report)
    return FittedCandidates(trained, y_scaler)


def split_rows(
    splits: Splitting, fraction: float | None, seed: int, most_held_out: int | None = None
) -> tuple[Index, Index | None]:
    """Row numbers to train on, shuffled, and those held out for early stopping, or None."""
    if fraction is None:
        return np.random.default_rng(seed).permutation(len(splits)), None
    if isinstance(fraction, str) or not 0 < fraction < 1:
        raise InvalidInput(
            f"validation_fraction={fraction} was given; a number between 0 and 1 is needed, such as 0.2, or None."
        )
    kept, held = splits.split_off(fraction, seed)
    if most_held_out is None or len(held) <= most_held_out:
        return kept, held
    return np.concatenate([kept, held[most_held_out:]]), held[:most_held_out]


def _values(table: Table) -> Array | None:
    return None if table.sensitive is None else table.sensitive.values


def _taking(x: Array, order: Index) -> Callable[[slice], Tensor]:
    """A function from a window on the ring to its features, in the precision in which x is stored."""
    return lambda window: torch.from_numpy(np.asarray(x.take(order[window], axis=0)))

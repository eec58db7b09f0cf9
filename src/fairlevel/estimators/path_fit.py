"""From a table to a front: train a library, judge it on rows it has not seen, and answer for any budget.

Three kinds of rows. *Training* rows train the candidates, *selection* rows judge them and set the shares of mixtures,
*reporting* rows tell what came of it. Where rows are many these are three disjoint sets. Where they are few the
candidates are trained fold by fold, every row is judged by candidates that have not seen it, the figures of a row come
from shares that have not seen it either, and the library that is kept is trained on all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from fairlevel.arrays import Array, Index
from fairlevel.data.scaling import Scaler
from fairlevel.data.splitting import folds, split_off
from fairlevel.estimators.budget import Budget
from fairlevel.estimators.grid_fit import Table
from fairlevel.estimators.model import WeightedNetworks
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.combiners import Choosing, Combiner
from fairlevel.fronts.stacking import Mixture, OutOfReach, without_small_shares
from fairlevel.libraries import Library, Solver
from fairlevel.libraries.protocol import Workshop
from fairlevel.metrics.dpvar import dpvar_of_many
from fairlevel.metrics.evaluator import DPVarEvaluator
from fairlevel.metrics.mixtures import SharedMean, shared_mean
from fairlevel.training.grid import Samples

MANY_ROWS = 3000  # from here on three disjoint sets
FOLDS = 3
FEWEST_ROWS = 60
EARLY_STOPPING = 0.15  # share of the training rows that tell a network when to stop
LEVELS = 12  # points of a front
MARGIN = 0.5  # standard errors by which a budget is tightened

Report = Callable[[float], None]
"""Called with the share of the work that is done."""


@dataclass(frozen=True)
class Trained:
    """A library and the scaling it was trained under."""

    library: Library
    x_scaler: Scaler
    y_scaler: Scaler

    def predict(self, x: Array) -> Array:
        """(row, feature) -> (candidate, row), in units of y."""
        return self.y_scaler.inverse(self.library.predict(self.x_scaler.transform(x)))

    def model(self, shares: Array) -> WeightedNetworks:
        """A mixture of candidates as one model."""
        library = self.library
        parameters, of_networks = library.mixture(without_small_shares(shares))
        return WeightedNetworks(
            library.network, library.input_map, parameters, of_networks, self.x_scaler, self.y_scaler
        )


@dataclass(frozen=True)
class Judged:
    """Candidates on rows they have not seen, in standard deviations of y.

    Shapes: predictions (candidate, row), target (row,), fold (row,): shares for the rows of a fold come from the
    others.
    """

    predictions: Array
    target: Array
    sensitive: Array
    fold: Index
    mean: SharedMean
    combiner: Combiner
    seed: int

    @cached_property
    def yardstick(self) -> DPVarEvaluator:
        """Measures DPVar on these rows."""
        return DPVarEvaluator.of(self.sensitive, self.seed)

    @cached_property
    def choosing(self) -> Choosing:
        """All rows together: what the kept model follows."""
        return self._choosing_on(np.arange(len(self.target)))

    @cached_property
    def choosing_without(self) -> list[tuple[Index, Choosing]]:
        """For each fold its rows, and candidates judged on the other rows."""
        return [
            (np.flatnonzero(self.fold == number), self._choosing_on(np.flatnonzero(self.fold != number)))
            for number in np.unique(self.fold)
        ]

    def unseen(self, budget: float) -> Array:
        """Predictions of the choice at a budget, each row by shares that have not seen it, (row,)."""
        result = np.empty(len(self.target))
        for inside, choosing in self.choosing_without:
            result[inside] = _nearest(choosing, budget).shares @ self.predictions[:, inside]
        return result

    def _choosing_on(self, rows: Index) -> Choosing:
        predictions = self.predictions[:, rows]
        disparity = self.mean.disparity(predictions, self.sensitive[rows], self.seed)
        return self.combiner.over(predictions, self.target[rows], disparity)


@dataclass(frozen=True)
class Calibration:
    """What budgets on selection rows come to on rows that set no shares.

    Shapes: level (level,) ascending budgets; unseen (level, row) what the choices predict for rows that set no shares
    of theirs; dpvar (level,) there and its standard error (level,).
    """

    level: Array
    unseen: Array
    dpvar: Array
    error: Array

    @property
    def cautious(self) -> Array:
        """DPVar with the margin for its own uncertainty, (level,)."""
        return self.dpvar + MARGIN * self.error

    def level_for(self, most: float, figure: Array) -> float:
        """The largest level whose figure (level,) stays within ``most``, or :class:`OutOfReach`."""
        rising = np.maximum.accumulate(figure)
        if rising[0] > most:
            raise OutOfReach(most, float(rising[0]))
        return float(np.interp(most, rising, self.level)) if rising[-1] > most else float(self.level[-1])


@dataclass(frozen=True)
class Chosen:
    """A model, and its MSE and debiased DPVar on the rows of the fit."""

    model: WeightedNetworks
    mse: float
    dpvar: float


@dataclass(frozen=True)
class Unseen:
    """The models of a front on rows that set nothing of theirs, in units of y.

    Shapes: predictions (model, row), target (row,), sensitive (row, attribute).
    """

    predictions: Array
    target: Array
    sensitive: Array


@dataclass(frozen=True)
class PathFit:
    """A fitted path: the kept library, candidates judged on selection rows, and the rows that report."""

    trained: Trained
    judged: Judged
    calibration: Calibration
    reporting: Table | None
    y_scale: float
    seed: int

    @property
    def cross_fitted(self) -> bool:
        """Whether rows were few, so that all of them report fold by fold."""
        return self.reporting is None

    def mixture(self, level: float) -> Mixture:
        """The choice at a level of DPVar on selection rows, in squared standard deviations of y."""
        return _nearest(self.judged.choosing, level)

    def choices(self, levels: Sequence[float], table: Table) -> list[Chosen]:
        """The models at some levels with their figures on ``table``; what depends on A is computed once for all."""
        models = [self.trained.model(self.mixture(level).shares) for level in levels]
        predictions = np.stack([model.predict(table.x) for model in models])
        mse = ((predictions - table.y) ** 2).mean(axis=1)
        dpvar = dpvar_of_many(predictions, attributes_of(table))
        return [Chosen(*each) for each in zip(models, mse.tolist(), dpvar.tolist(), strict=True)]

    def level_within(self, budget: Budget) -> float:
        """The level that keeps a budget on unseen rows, margin included."""
        found = self.calibration
        figures = {
            "max_dpvar": found.cautious * self.y_scale**2,
            "max_share": found.cautious / found.unseen.var(axis=1),
        }
        try:
            return found.level_for(budget.most, figures[budget.name])
        except OutOfReach as error:
            raise InvalidInput(
                f"{budget.name}={budget.most:g} is out of reach: the smallest value met on unseen rows is "
                f"{error.smallest:.3g}, margin included; allow at least that much, or use more rows, another predictor "
                "or other candidates."
            ) from None

    def unseen(self) -> Unseen:
        """What the choices at the calibrated levels predict for the reporting rows, in units of y."""
        found = self.calibration
        if self.reporting is None:
            centre = self.trained.y_scaler.mean
            predictions = found.unseen * self.y_scale + centre
            return Unseen(predictions, self.judged.target * self.y_scale + centre, self.judged.sensitive)
        shares = np.stack([without_small_shares(self.mixture(level).shares) for level in found.level])
        predictions = shares @ self.trained.predict(self.reporting.x)
        return Unseen(predictions, self.reporting.y, attributes_of(self.reporting))

    def yardstick(self) -> DPVarEvaluator:
        """Measures DPVar on the reporting rows."""
        if self.reporting is None:
            return self.judged.yardstick
        return DPVarEvaluator.of(attributes_of(self.reporting), self.seed)

    def conditional_means(self, unseen: Unseen) -> Array:
        """E[f | A] of each choice at the reporting rows, (level, row)."""
        return self.judged.mean.fitted(unseen.predictions, unseen.sensitive, self.seed)


def fit_path(
    table: Table, solver: Solver, combiner: Combiner, workshop: Workshop, report: Report = lambda share: None
) -> PathFit:
    """Train, judge and calibrate."""
    rows = len(table.y)
    if rows < FEWEST_ROWS:
        raise InvalidInput(f"{rows} rows were given; a path needs at least {FEWEST_ROWS} to train, choose and report.")
    seed = workshop.seed
    y_scale, y_mean = float(table.y.std()) or 1.0, float(table.y.mean())
    if rows >= MANY_ROWS:
        kept, held = split_off(rows, 0.4, seed)
        selection, reporting = held[: len(held) // 2], held[len(held) // 2 :]
        trained = _train(table.rows(kept), solver, workshop, report)
        predictions = trained.predict(table.x[selection])
        fold = folds(len(selection), FOLDS, seed)
        reports: Table | None = table.rows(reporting)
    else:
        fold = folds(rows, FOLDS, seed)
        selection, reports = np.arange(rows), None
        parts = {}
        for number in range(FOLDS):
            part = _train(
                table.rows(np.flatnonzero(fold != number)), solver, workshop, _portion(report, number, FOLDS + 1)
            )
            parts[number] = (part.library.table, part.predict(table.x[fold == number]))
        trained = _train(table, solver, workshop, _portion(report, FOLDS, FOLDS + 1))
        trained, predictions = _common(trained, parts, fold)
    judged = _judge(table.rows(selection), (predictions - y_mean) / y_scale, y_mean, y_scale, fold, combiner, seed)
    return PathFit(trained, judged, _calibrate(judged), reports, y_scale, seed)


def _train(table: Table, solver: Solver, workshop: Workshop, report: Report) -> Trained:
    """A library on these rows; some of them tell when to stop."""
    kept, held = split_off(len(table.y), EARLY_STOPPING, workshop.seed)
    x_scaler, y_scaler = Scaler.fit(table.x), Scaler.fit(table.y)
    attributes = attributes_of(table)
    a_scaler = Scaler.fit(attributes)

    def samples(rows: Index) -> Samples:
        scaled = (x_scaler.transform(table.x[rows]), y_scaler.transform(table.y[rows]))
        return Samples(*scaled, a_scaler.transform(attributes[rows]), rows_in=len(rows) // 2)

    programs = 0

    def progress(done: int, total: int) -> None:
        nonlocal programs
        report((programs + done / total) / solver.families)
        programs += done == total

    return Trained(solver.train(samples(kept), samples(held), workshop, progress), x_scaler, y_scaler)


def _portion(report: Report, number: int, count: int) -> Report:
    return lambda share: report((number + share) / count)


def _common(trained: Trained, parts: dict[int, tuple[pd.DataFrame, Array]], fold: Index) -> tuple[Trained, Array]:
    """Candidates that diverged nowhere: the kept library reduced to them, and their predictions (candidate, row)."""
    names = trained.library.table["candidate"]
    shared = names[[all((frame["candidate"] == name).any() for frame, _ in parts.values()) for name in names]]
    predictions = np.empty((len(shared), len(fold)))
    for number, (frame, found) in parts.items():
        position = pd.Series(np.arange(len(frame)), index=frame["candidate"])
        predictions[:, fold == number] = found[position[shared].to_numpy()]
    library = trained.library.only(shared.index.to_numpy())
    return replace(trained, library=library), predictions


def attributes_of(table: Table) -> Array:
    """The sensitive attributes of a table that must have some, (row, attribute)."""
    if table.sensitive is None:
        raise InvalidInput("A path needs sensitive_features.")
    return table.sensitive.values


def _judge(
    table: Table, predictions: Array, y_mean: float, y_scale: float, fold: Index, combiner: Combiner, seed: int
) -> Judged:
    """One smoother for all candidates: the one that describes the most accurate of them best."""
    target = (table.y - y_mean) / y_scale
    sensitive = attributes_of(table)
    mean = shared_mean(predictions, target, sensitive, seed)
    return Judged(predictions, target, sensitive, fold, mean, combiner, seed)


def _calibrate(judged: Judged) -> Calibration:
    """Unseen figures along levels from the least reachable DPVar to that of the most accurate choice."""
    choosing = judged.choosing
    free = choosing.within(np.inf).dpvar
    low = min(max(choosing.smallest, 1e-6), free)
    levels = np.linspace(np.sqrt(low), np.sqrt(free), LEVELS) ** 2
    unseen = np.stack([judged.unseen(level) for level in levels])
    return Calibration(levels, unseen, *judged.yardstick.errors(unseen))


def _nearest(choosing: Choosing, level: float) -> Mixture:
    """The choice at a level, or the most level one there is."""
    return choosing.within(max(level, choosing.smallest * (1 + 1e-4) + 1e-12))

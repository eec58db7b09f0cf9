"""From a table to a front: train a library, judge it on rows it has not seen, and answer for any budget.

Three kinds of rows. *Training* rows train the candidates, *selection* rows judge them and set the shares of mixtures,
*reporting* rows tell what came of it. Where rows are many these are three disjoint sets. Where they are few the
candidates are trained fold by fold, every row is judged by candidates that have not seen it, the figures of a row come
from shares that have not seen it either, and the library that is kept is trained on all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import torch

from fairlevel.conditional_mean.leave_out import leave_out_matrix
from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.data.scaling import Array, Scaler
from fairlevel.data.splitting import Index, folds, split_off
from fairlevel.estimators.grid_fit import Table
from fairlevel.estimators.model import WeightedNetworks
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.combiners import Choosing, Combiner
from fairlevel.fronts.stacking import Mixture, OutOfReach, without_small_shares
from fairlevel.libraries import Library, Solver
from fairlevel.libraries.protocol import Workshop
from fairlevel.metrics.choice import candidates, choose
from fairlevel.metrics.interval import DPVarInterval, intervals_of_many
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
    smoother: LinearSmoother
    ridge: float
    fold: Index
    combiner: Combiner
    sensitive: Array
    smoother_of: Callable[[Index], LinearSmoother]

    @cached_property
    def choosing(self) -> Choosing:
        """All rows together: what the kept model follows."""
        matrix = leave_out_matrix(torch.from_numpy(self.predictions), self.smoother, self.ridge).numpy()
        return self.combiner.over(self.predictions, self.target, matrix)

    @cached_property
    def choosing_without(self) -> list[tuple[Index, Choosing]]:
        """For each fold its rows, and candidates judged on the other rows."""
        parts = []
        for number in np.unique(self.fold):
            inside, outside = np.flatnonzero(self.fold == number), np.flatnonzero(self.fold != number)
            rows = torch.from_numpy(self.predictions[:, outside])
            matrix = leave_out_matrix(rows, self.smoother_of(outside), self.ridge).numpy()
            judged = self.combiner.over(self.predictions[:, outside], self.target[outside], matrix)
            parts.append((inside, judged))
        return parts

    def unseen(self, budget: float) -> Array:
        """Predictions of the choice at a budget, each row by shares that have not seen it, (row,)."""
        result = np.empty(len(self.target))
        for inside, choosing in self.choosing_without:
            result[inside] = _nearest(choosing, budget).shares @ self.predictions[:, inside]
        return result


@dataclass(frozen=True)
class Calibration:
    """What budgets on selection rows come to on rows that set no shares.

    Shapes: level (level,) ascending budgets; mse, dpvar, share, error (level,) on unseen rows, error the standard error
    of dpvar.
    """

    level: Array
    mse: Array
    dpvar: Array
    share: Array
    error: Array

    def level_for(self, most: float, figure: Array) -> float | None:
        """The largest budget whose figure, a margin included, stays within ``most``; None when none does."""
        rising = np.maximum.accumulate(figure)
        if rising[0] > most:
            return None
        return float(np.interp(most, rising, self.level)) if rising[-1] > most else float(self.level[-1])


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

    def level_within(self, most: float, by_share: bool) -> float:
        """The level that keeps DPVar (units of y²) or its share within ``most`` on unseen rows."""
        found, scale = self.calibration, 1.0 if by_share else self.y_scale**2
        ratio = found.share / np.maximum(found.dpvar, 1e-300) if by_share else 1.0
        figure = (found.dpvar + MARGIN * found.error) * ratio * scale
        level = found.level_for(most, figure)
        if level is None:
            raise OutOfReach(most, float(figure[0]))
        return level

    def report(self, levels: Array) -> tuple[Array, Array, list[DPVarInterval]]:
        """(predictions, target, intervals) of the choices at these levels on the reporting rows, in units of y."""
        if self.reporting is None or self.reporting.sensitive is None:
            centre = self.trained.y_scaler.mean
            predictions = np.stack([self.judged.unseen(level) for level in levels]) * self.y_scale + centre
            target, sensitive = self.judged.target * self.y_scale + centre, self.judged.sensitive
        else:
            shares = np.stack([without_small_shares(self.mixture(level).shares) for level in levels])
            predictions = shares @ self.trained.predict(self.reporting.x)
            target, sensitive = self.reporting.y, self.reporting.sensitive.values
        return predictions, target, intervals_of_many(predictions, sensitive, random_state=self.seed)


def fit_path(
    table: Table, solver: Solver, combiner: Combiner, workshop: Workshop, report: Report = lambda share: None
) -> PathFit:
    """Train, judge and calibrate."""
    rows = len(table.y)
    if rows < FEWEST_ROWS:
        raise InvalidInput(f"{rows} rows were given; a path needs at least {FEWEST_ROWS} to train, choose and report.")
    if table.sensitive is None:
        raise InvalidInput("A path needs sensitive_features.")
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
    return PathFit(trained, judged, _calibrate(judged, seed), reports, y_scale, seed)


def _train(table: Table, solver: Solver, workshop: Workshop, report: Report) -> Trained:
    """A library on these rows; some of them tell when to stop."""
    kept, held = split_off(len(table.y), EARLY_STOPPING, workshop.seed)
    x_scaler, y_scaler = Scaler.fit(table.x), Scaler.fit(table.y)
    if table.sensitive is None:
        raise InvalidInput("A path needs sensitive_features.")
    a_scaler = Scaler.fit(table.sensitive.values)
    attributes = table.sensitive.values

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
    rows = np.array(shared.index, dtype=np.int64)
    library = trained.library
    reduced = Library(
        library.network,
        library.input_map,
        library.parameters,
        library.shares[torch.from_numpy(rows)],
        library.table.iloc[rows].reset_index(drop=True),
    )
    return Trained(reduced, trained.x_scaler, trained.y_scaler), predictions


def _judge(
    table: Table, predictions: Array, y_mean: float, y_scale: float, fold: Index, combiner: Combiner, seed: int
) -> Judged:
    """One smoother for all candidates: the one that describes the most accurate of them best."""
    target = (table.y - y_mean) / y_scale
    if table.sensitive is None:
        raise InvalidInput("A path needs sensitive_features.")
    sensitive = table.sensitive.values
    known = candidates(sensitive, np.ones(len(sensitive)), seed, None)
    accurate = predictions[((predictions - target) ** 2).mean(axis=1).argmin()]
    choice = choose(torch.from_numpy(accurate - accurate.mean()).unsqueeze(0), known)
    chosen = known[int(choice.index)]
    means = {candidate.name: candidate for candidate in known}

    def smoother_of(rows: Index) -> LinearSmoother:
        part = candidates(sensitive[rows], np.ones(len(rows)), seed, None)
        same = [candidate for candidate in part if candidate.name == chosen.name]
        return (same or [means[chosen.name]])[0].smoother

    return Judged(predictions, target, chosen.smoother, float(choice.ridge), fold, combiner, sensitive, smoother_of)


def _calibrate(judged: Judged, seed: int) -> Calibration:
    """Unseen figures along levels from the least reachable DPVar to that of the most accurate choice."""
    choosing = judged.choosing
    free = choosing.within(np.inf).dpvar
    low = min(max(choosing.smallest, 1e-6), free)
    levels = np.linspace(np.sqrt(low), np.sqrt(free), LEVELS) ** 2
    unseen = np.stack([judged.unseen(level) for level in levels])
    intervals = intervals_of_many(unseen, judged.sensitive, level=0.6827, random_state=seed)
    dpvar = np.array([max(interval.estimate, 0.0) for interval in intervals])
    error = np.array([interval.high - max(interval.estimate, 0.0) for interval in intervals])
    share = np.array([interval.share for interval in intervals])
    mse = ((unseen - judged.target) ** 2).mean(axis=1)
    return Calibration(levels, mse, dpvar, share, error)


def _nearest(choosing: Choosing, level: float) -> Mixture:
    """The choice at a level, or the most level one there is."""
    return choosing.within(max(level, choosing.smallest * (1 + 1e-4) + 1e-12))

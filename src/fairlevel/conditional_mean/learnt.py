"""Functions of A that are learnt from a prediction f: what splines and random features miss of E[f | A].

E[f | A] = E[f | A, g(A)] for any function g. A row's value comes from a model that has not seen the row, so it is a
function of A as far as this row is concerned. A function joins only where it predicts f clearly better than the smooth
mean does: where there is nothing to find, chance would otherwise choose some.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.threads import on_single_threads

FOLDS = 10
FEWEST_UNITS = 50  # rows, or groups of rows, from which something can be learnt
MOST_ROWS = 20_000  # that models learn from
MOST_DIRECTIONS = 10
CLEARLY, PROMISING = 2.0, -0.5
"""Standard errors by which a function has to be better than the smooth mean: in the end, and in the first fold."""


@dataclass(frozen=True)
class LearnerRows:
    """What learners see: a prediction f, (row,), attributes (row, attribute), ranks of these, and weights (row,)."""

    prediction: Array
    attributes: Array
    ranks: Array
    weight: Array

    def take(self, rows: Index) -> LearnerRows:
        return LearnerRows(self.prediction[rows], self.attributes[rows], self.ranks[rows], self.weight[rows])


def learnt_functions(
    prediction: Array, residual: Array, sensitive: Array, row_weight: Array, groups: Index | None, seed: int
) -> Array:
    """Predictions of f from A by boosted trees and by nearest rows, as far as these are clearly better than the smooth
    mean, which leaves a ``residual``: (row,), (row,), (row, attribute) -> (row, function), often none. Groups of rows
    are seen as a whole, or not at all.
    """
    random = np.random.default_rng(seed)
    unit = np.arange(len(prediction)) if groups is None else np.unique(groups, return_inverse=True)[1]
    if unit.max() + 1 < FEWEST_UNITS:
        return np.empty((len(prediction), 0))
    fold = random.permutation(unit.max() + 1)[unit] % FOLDS
    sampled = np.zeros(len(prediction), dtype=bool)
    sampled[random.permutation(len(prediction))[:MOST_ROWS]] = True
    rows = LearnerRows(
        prediction, np.hstack([sensitive, _thin_directions(sensitive, sampled)]), _ranks(sensitive), row_weight
    )

    def values(learner: Callable[[LearnerRows, LearnerRows], Array], number: int) -> Array:
        return learner(rows.take(np.flatnonzero((fold != number) & sampled)), rows.take(np.flatnonzero(fold == number)))

    functions = np.zeros((len(prediction), len(LEARNERS)))
    promising = np.arange(len(LEARNERS))
    for numbers in ((0,), tuple(range(1, FOLDS))):  # who is worse in one fold need not learn in the others
        if not len(promising):
            break
        tasks = [(number, which) for number in numbers for which in promising]
        learnt = on_single_threads(*(partial(values, LEARNERS[which], number) for number, which in tasks))
        for (number, which), found in zip(tasks, learnt, strict=True):
            functions[fold == number, which] = found
        done = np.isin(fold, np.arange(numbers[-1] + 1))
        gain = row_weight[:, None] * (residual[:, None] ** 2 - (prediction[:, None] - functions[:, promising]) ** 2)
        limit = PROMISING if numbers == (0,) else CLEARLY
        promising = promising[_standardised(gain[done], unit[done]) > limit]
    joined: Array = functions[:, promising]
    return joined


def _standardised(gain: Array, unit: Index) -> Array:
    """Means of (row, function) by their standard errors, where only units are independent; (function,)."""
    seen = np.bincount(unit) > 0
    totals = np.stack([np.bincount(unit, column)[seen] for column in gain.T])
    error: Array = totals.std(axis=1)
    standardised: Array = np.divide(
        totals.mean(axis=1) * np.sqrt(seen.sum()), error, out=np.zeros(len(error)), where=error > 0
    )
    return standardised


def _ranks(sensitive: Array) -> Array:
    ranks: Array = np.column_stack([np.searchsorted(np.sort(column), column) / len(column) for column in sensitive.T])
    return ranks


def _thin_directions(sensitive: Array, sampled: Array) -> Array:
    """The directions in which standardised attributes spread least, made of equal spread: by these, nearly equal
    columns differ. Trees find the others along the columns.
    """
    if sensitive.shape[1] == 1:
        return sensitive[:, :0]
    spread = sensitive.std(axis=0)
    standard = (sensitive - sensitive.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    _, size, directions = np.linalg.svd(standard[sampled], full_matrices=False)
    used = np.flatnonzero(size > 1e-12 * size[0])[-MOST_DIRECTIONS:]
    values: Array = standard @ (directions[used].T / size[used])
    return values


def _trees(train: LearnerRows, test: LearnerRows) -> Array:
    import lightgbm

    settings: dict[str, Any] = {"num_leaves": 31, "min_data_in_leaf": 5, "learning_rate": 0.08}
    settings["min_data_in_bin"] = 1  # narrow peaks, and codes without an order
    settings |= {"objective": "l2", "verbosity": -1, "num_threads": 1, "deterministic": True}
    data = lightgbm.Dataset(train.attributes, train.prediction, weight=train.weight)
    return np.asarray(lightgbm.train(settings, data, 150).predict(test.attributes, num_threads=1))


def _neighbours(count: int, train: LearnerRows, test: LearnerRows) -> Array:
    from sklearn.neighbors import KNeighborsRegressor

    model = KNeighborsRegressor(min(count, len(train.prediction))).fit(train.ranks, train.prediction)
    values: Array = model.predict(test.ranks)
    return values


LEARNERS: tuple[Callable[[LearnerRows, LearnerRows], Array], ...] = (
    _trees,
    partial(_neighbours, 3),
    partial(_neighbours, 12),
)

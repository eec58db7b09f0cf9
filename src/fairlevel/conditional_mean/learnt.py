"""Functions of A that are learnt from a prediction f: what splines and random features miss of E[f | A].

E[f | A] = E[f | A, g(A)] for any function g. A row's value comes from a model that has not seen the row, so it is a
function of A as far as this row is concerned. A function joins only where it predicts f clearly better than the smooth
mean does: where there is nothing to find, chance would otherwise choose some.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array, Flags, Index
from fairlevel.threads import on_single_threads, waiting_asleep

FOLDS = 10
FEWEST_UNITS = 50  # rows, or groups of rows, from which something can be learnt
MOST_ROWS = 20_000  # that models learn from
MOST_DIRECTIONS = 10
CLEARLY, PROMISING = 2.0, -0.5
"""Standard errors by which a function has to be better than the smooth mean: in the end, and in the first fold."""

Predict = Callable[[Flags], Array]
"""What a learner predicts at some of the rows."""


def learnt_functions(
    prediction: Array, residual: Array, sensitive: Array, row_weight: Array, groups: Index | None, seed: int
) -> Array:
    """Predictions of f from A by boosted trees and by nearest rows, as far as these are clearly better than the smooth
    mean, which leaves a ``residual``: (row,), (row,), (row, attribute) -> (row, function), often none. Groups of rows,
    and rows that are the same in everything, are seen as a whole, or not at all. At most 20,000 rows learn, and say
    which functions are better.
    """
    random = np.random.default_rng(seed)
    everything = pd.DataFrame(np.column_stack([prediction, sensitive]))
    unit = pd.factorize(pd.util.hash_pandas_object(everything, index=False) if groups is None else groups)[0]
    if unit.max() + 1 < FEWEST_UNITS:
        return np.empty((len(prediction), 0))
    fold = random.permutation(unit.max() + 1)[unit] % FOLDS
    sampled = np.zeros(len(prediction), dtype=bool)
    sampled[random.permutation(np.flatnonzero(row_weight))[:MOST_ROWS]] = True
    attributes = np.hstack([sensitive, _thin_directions(sensitive, sampled)])
    ranks = (pd.DataFrame(sensitive).rank(method="min").to_numpy() - 1) / len(sensitive)
    learners: list[Callable[[Flags], Predict]] = [
        partial(_trees, prediction, attributes, row_weight),
        partial(_neighbours, prediction, ranks, 3),
        partial(_neighbours, prediction, ranks, 12),
    ]

    def learn(learner: int, number: int) -> tuple[Predict, Array]:
        predict = learners[learner](sampled & (fold != number))
        return predict, predict(sampled & (fold == number))

    functions, models = np.zeros((len(prediction), len(learners))), {}
    promising = np.arange(len(learners))
    for numbers in ((0,), tuple(range(1, FOLDS))):  # who is worse in one fold need not learn in the others
        tasks = [(learner, number) for number in numbers for learner in promising.tolist()]
        results = on_single_threads(*(partial(learn, *task) for task in tasks))
        for (learner, number), (predict, values) in zip(tasks, results, strict=True):
            models[learner, number] = predict
            functions[sampled & (fold == number), learner] = values
        done = sampled & (fold <= numbers[-1])
        gain = residual[done, None] ** 2 - (prediction[done, None] - functions[np.ix_(done, promising)]) ** 2
        limit = PROMISING if numbers == (0,) else CLEARLY
        promising = promising[_standardised(row_weight[done, None] * gain, unit[done]) > limit]
        if not len(promising):
            return np.empty((len(prediction), 0))
    for learner in promising.tolist():
        for number in range(FOLDS):
            others = ~sampled & (fold == number)
            if others.any():
                functions[others, learner] = models[learner, number](others)
    return functions[:, promising]


def _standardised(gain: Array, unit: Index) -> Array:
    """Means of (row, function) by their standard errors, where only units are independent; (function,)."""
    seen = np.bincount(unit) > 0
    totals = np.stack([np.bincount(unit, column)[seen] for column in gain.T])
    mean, error = totals.mean(axis=1) * np.sqrt(seen.sum()), totals.std(axis=1)
    standardised: Array = np.divide(mean, error, out=np.zeros(len(error)), where=error > 0)
    return standardised


def _thin_directions(sensitive: Array, sampled: Flags) -> Array:
    """Directions in which attributes spread least, made of equal spread: there nearly equal columns differ."""
    if sensitive.shape[1] == 1:
        return sensitive[:, :0]
    spread = sensitive.std(axis=0)
    standard = (sensitive - sensitive.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    _, size, directions = np.linalg.svd(standard[sampled], full_matrices=False)
    used = np.flatnonzero(size > 1e-12 * size[0])[-MOST_DIRECTIONS:]
    values: Array = standard @ (directions[used].T / size[used])
    return values


def _trees(prediction: Array, attributes: Array, row_weight: Array, train: Flags) -> Predict:
    with waiting_asleep():
        import lightgbm

    settings: dict[str, Any] = {"num_leaves": 31, "min_data_in_leaf": 5, "learning_rate": 0.08}
    settings["min_data_in_bin"] = 1  # narrow peaks, and codes without an order
    settings |= {"objective": "l2", "verbosity": -1, "num_threads": 1, "deterministic": True}
    data = lightgbm.Dataset(attributes[train], prediction[train], weight=row_weight[train])
    model = lightgbm.train(settings, data, 150)
    return lambda rows: np.asarray(model.predict(attributes[rows], num_threads=1))


def _neighbours(prediction: Array, ranks: Array, count: int, train: Flags) -> Predict:
    from sklearn.neighbors import KNeighborsRegressor

    model = KNeighborsRegressor(min(count, int(train.sum()))).fit(ranks[train], prediction[train])
    return lambda rows: np.asarray(model.predict(ranks[rows]))

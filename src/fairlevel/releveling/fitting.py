"""From a model that exists to candidates: corrections fitted on some rows and judged on others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.corrections.closed_form import Disparity
from fairlevel.corrections.columns import DenseColumns
from fairlevel.metrics.choice import candidates_for
from fairlevel.releveling.existing import Corrections, ExistingModel, Family
from fairlevel.threads import numpy_on_one_thread, on_single_threads

FOLDS = 5
MANY_ROWS = 8000  # three folds are enough: what is judged is fitted on 5333 rows or more
CONSTANT = 1  # its number among the candidates; the first one, 0, is the model as it is


def count_folds(rows: int) -> int:
    """How many parts the rows are divided into; with many rows fewer, since each one costs a fit of its own."""
    return FOLDS if rows < MANY_ROWS else 3


@dataclass(frozen=True)
class FittedCorrections:
    """All candidates that some rows give: the model as it is, the constant, and the corrections of each family."""

    model: ExistingModel
    families: tuple[Family, ...]
    corrections: tuple[Corrections, ...]

    @classmethod
    def on(
        cls, model: ExistingModel, attributes: Attributes, target: Array | None, seed: int, rows: Index
    ) -> FittedCorrections:
        """Fitted on these rows; target (row,) where leaves may move towards it."""
        here, prediction = attributes.take(rows), model.prediction[rows]
        disparity = Disparity.of(prediction, here, seed)
        families = model.families(rows, disparity, None if target is None else target[rows])
        first, *others = (_fitted(model, family, rows, disparity) for family in families)
        constant = model.response.total(float(here.weight @ prediction))
        unchanged = np.zeros_like(first.coefficients, shape=(2, first.coefficients.shape[1]))
        both = Corrections(unchanged, np.array([1.0, 0.0]), np.array([0.0, constant]))
        return cls(model, families, (_joined(both, first), *others))

    def __len__(self) -> int:
        """How many candidates there are."""
        return sum(len(part.kept) for part in self.corrections)

    def predict(self, rows: Index) -> Array:
        """Predictions of all candidates on some of the model's rows, (candidate, row)."""
        totals = [
            corrections.totals(family.columns.take(rows), self.model.total[rows])
            for family, corrections in zip(self.families, self.corrections, strict=True)
        ]
        return self.model.response.prediction(np.concatenate(totals))

    def mixed(self, proportions: Array) -> Any:
        """The model that a mixture of the candidates is, (candidate,)."""
        if proportions[0] == 1:
            return self.model.unchanged
        ends = np.cumsum([len(part.kept) for part in self.corrections])
        by_family = zip(self.corrections, np.split(proportions, ends[:-1]), strict=True)
        return self.model.changed(self.families, [part.mixed(shares) for part, shares in by_family])


def _fitted(model: ExistingModel, family: Family, rows: Index, disparity: Disparity) -> Corrections:
    """Candidates of one family; its start alone is one, too."""
    columns, total, ridges = family.columns.take(rows), model.total[rows], family.ridges
    if not family.starts:
        return model.response.corrections(columns, total, disparity, ridges)
    movable, start = DenseColumns(columns.values[:, :-1]), columns.values[:, -1]
    level = model.response.corrections(movable, total + start, disparity, ridges)
    alone = Corrections(np.zeros_like(level.coefficients[:1]), np.ones(1), np.zeros(1))
    both = _joined(alone, level)
    return replace(both, coefficients=np.column_stack([both.coefficients, both.kept]))


def _joined(one: Corrections, other: Corrections) -> Corrections:
    return Corrections(
        np.vstack([one.coefficients, other.coefficients]),
        np.append(one.kept, other.kept),
        np.append(one.intercepts, other.intercepts),
    )


@dataclass(frozen=True)
class CrossFitted:
    """Corrections fitted on all rows, and predictions of the same candidates on rows that did not fit them, (candidate,
    row).
    """

    fitted: FittedCorrections
    predictions: Array

    @classmethod
    def of(
        cls, model: ExistingModel, attributes: Attributes, target: Array | None, fold: Index, seed: int
    ) -> CrossFitted:
        """What is predicted on a fold is fitted on the others; fold (row,). The attributes keep the functions of A that
        judge the predictions, which are prepared meanwhile.
        """
        held = [np.flatnonzero(fold == number) for number in np.unique(fold)]
        on = partial(FittedCorrections.on, model, attributes, target, seed)

        def of_fold(rows: Index) -> Array:
            return on(np.setdiff1d(np.arange(len(fold)), rows)).predict(rows)

        tasks: list[Callable[[], Any]] = [partial(on, np.arange(len(fold)))]
        tasks += [partial(of_fold, rows) for rows in held]
        with numpy_on_one_thread():
            fitted, *parts, _ = on_single_threads(*tasks, partial(candidates_for, attributes, seed))
        predictions = np.empty((len(fitted), len(fold)))
        for rows, part in zip(held, parts, strict=True):
            predictions[:, rows] = part
        predictions[CONSTANT] = attributes.weight @ model.prediction  # one value in all folds
        return cls(fitted, predictions)

"""From a model that exists to candidates: corrections fitted on some rows and judged on others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.corrections.closed_form import Disparity
from fairlevel.metrics.choice import candidates_for
from fairlevel.releveling.existing import Corrections, ExistingModel, Family, corrections
from fairlevel.threads import numpy_on_one_thread, on_single_threads

FOLDS = 5
MANY_ROWS = 8000  # three folds are enough: what is judged is fitted on 5333 rows or more
UNCHANGED, CONSTANT = 0, 1  # the first two candidates


def count_folds(rows: int) -> int:
    """How many parts the rows are divided into; with many rows fewer, since each one costs a fit of its own."""
    return FOLDS if rows < MANY_ROWS else 3


@dataclass(frozen=True)
class FittedCorrections:
    """All candidates that some rows give: the model as it is, the constant (a total), and the corrections of each
    family.
    """

    model: ExistingModel
    constant: float
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
        fitted = tuple(corrections(model.response, family, rows, disparity) for family in families)
        return cls(model, model.response.total(float(here.weight @ prediction)), families, fitted)

    def __len__(self) -> int:
        """How many candidates there are."""
        return 2 + sum(map(len, self.corrections))

    def predict(self, rows: Index) -> Array:
        """Predictions of all candidates on some of the model's rows, (candidate, row)."""
        total = self.model.total[rows]
        families = zip(self.families, self.corrections, strict=True)
        totals = [part.totals(family, rows) for family, part in families]
        return self.model.response.prediction(np.vstack([total, np.full_like(total, self.constant), *totals]))

    def mixed(self, proportions: Array) -> Any:
        """The model that a mixture of the candidates is, (candidate,)."""
        if proportions[UNCHANGED] == 1:
            return self.model.original
        ends = np.cumsum([2, *map(len, self.corrections)])
        _, *shares = np.split(proportions, ends[:-1])
        mixture = [part.mixed(own) for part, own in zip(self.corrections, shares, strict=True)]
        constant = float(proportions[CONSTANT] * self.constant)
        return self.model.changed(self.families, mixture, float(proportions[UNCHANGED]), constant)


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

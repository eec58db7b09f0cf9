"""From a model that exists to candidates: corrections fitted on some rows and judged on others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.corrections.closed_form import Disparity
from fairlevel.metrics.choice import candidates_for
from fairlevel.releveling.protocol import Change, ExistingModel, Family
from fairlevel.releveling.responses import Corrections
from fairlevel.threads import numpy_on_one_thread, on_single_threads

FOLDS = 5
MANY_ROWS = 8000  # three folds are enough: what is judged is fitted on 5333 rows or more
CONSTANT_PLACE = 1  # among the candidates; the first one is the model as it is


def count_folds(rows: int) -> int:
    """How many parts the rows are divided into; with many rows fewer, since each one costs a fit of its own."""
    return FOLDS if rows < MANY_ROWS else 3


@dataclass(frozen=True)
class FittedCorrections:
    """All candidates that some rows give: the model as it is, the constant (its total and its prediction), and the
    corrections of each family.
    """

    families: Mapping[str, Family]
    corrections: Mapping[str, Corrections]
    constant: tuple[float, float]

    @classmethod
    def on(
        cls, model: ExistingModel, attributes: Attributes, target: Array | None, rows: Index, seed: int
    ) -> FittedCorrections:
        """Fitted on these rows; target (row,) where leaves may move towards it."""
        own, prediction = attributes.take(rows), model.prediction[rows]
        disparity = Disparity.of(prediction, own, seed)
        families = model.families(rows, disparity, None if target is None else target[rows])
        found = {name: _corrections(model, family, rows, disparity) for name, family in families.items()}
        mean = float(own.weight @ prediction)
        return cls(families, found, (model.response.total(mean), mean))

    def __len__(self) -> int:
        """How many candidates there are."""
        return 2 + sum(len(own.intercepts) for own in self.corrections.values())

    def predict(self, model: ExistingModel, rows: Index) -> Array:
        """Predictions of all candidates on some of the model's rows, (candidate, row)."""
        parts = [model.prediction[rows][None], np.full((1, len(rows)), self.constant[1])]
        for name, own in self.corrections.items():
            family = self.families[name]
            total = family.columns.take(rows).apply(own.coefficients)
            total += own.kept[:, None] * _start(model, family)[rows] + own.intercepts[:, None]
            parts.append(model.response.prediction(total))
        return np.concatenate(parts)

    def change(self, proportions: Array) -> Change:
        """A mixture of the candidates as one change of the total; proportions (candidate,)."""
        if proportions[0] == 1:
            return Change(1.0, 0.0, {})
        kept, intercept = float(proportions[0]), float(proportions[1]) * self.constant[0]
        start, coefficients = 2, {}
        for name, own in self.corrections.items():
            part = proportions[start : start + len(own.intercepts)]
            whole = float(part @ own.kept)
            u = part @ own.coefficients
            coefficients[name] = u if self.families[name].start is None else np.append(u, whole)
            kept += whole
            intercept += float(part @ own.intercepts)
            start += len(part)
        return Change(kept, intercept, coefficients)


def _start(model: ExistingModel, family: Family) -> Array:
    """What the columns of a family are added to, (row,)."""
    return model.total if family.start is None else model.total + family.start


def _corrections(model: ExistingModel, family: Family, rows: Index, disparity: Disparity) -> Corrections:
    """Those of one family; a start of its own is a candidate, too."""
    total = _start(model, family)[rows]
    found = model.response.corrections(family.columns.take(rows), total, disparity, family.ridges)
    if family.start is None:
        return found
    return Corrections(
        np.vstack([np.zeros_like(found.coefficients[:1]), found.coefficients]),
        np.append(1.0, found.kept),
        np.append(0.0, found.intercepts),
    )


class CrossFitted(NamedTuple):
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
        on = partial(FittedCorrections.on, model, attributes, target, seed=seed)

        def of_fold(rows: Index) -> Array:
            return on(rows=np.setdiff1d(np.arange(len(fold)), rows)).predict(model, rows)

        tasks: list[Callable[[], Any]] = [partial(on, rows=np.arange(len(fold)))]
        tasks += [partial(of_fold, rows) for rows in held]
        with numpy_on_one_thread():
            fitted, *parts, _ = on_single_threads(*tasks, partial(candidates_for, attributes, seed))
        predictions = np.empty((len(fitted), len(fold)))
        for rows, part in zip(held, parts, strict=True):
            predictions[:, rows] = part
        predictions[CONSTANT_PLACE] = attributes.weight @ model.prediction  # one value in all folds
        return cls(fitted, predictions)

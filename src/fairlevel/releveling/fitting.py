"""From a model that exists to candidates: corrections fitted on some rows and judged on others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.candidates.corrections import CorrectionPath, Disparity
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.releveling.protocol import Change, ExistingModel, Family

FOLDS = 3
AS_IS, CONSTANT = "model as it is", "constant"
CONSTANT_PLACE = 1  # among the candidates


@dataclass(frozen=True)
class Corrections:
    """Corrections of one family. Shapes: coefficients (candidate, column), intercepts (candidate,)."""

    coefficients: Array
    intercepts: Array


@dataclass(frozen=True)
class FittedCorrections:
    """All candidates that some rows give: the model as it is, the constant, and the corrections of each family."""

    families: Mapping[str, Family]
    corrections: Mapping[str, Corrections]
    constant: float

    @classmethod
    def on(cls, model: ExistingModel, attributes: Attributes, rows: Index, seed: int) -> FittedCorrections:
        """Fitted on these rows."""
        own, prediction = attributes.take(rows), model.prediction[rows]
        disparity = Disparity.of(prediction, own, seed)
        families = model.families(rows, disparity)
        found = {}
        for name, family in families.items():
            columns = family.columns.take(rows)
            paths = CorrectionPath.all(columns, prediction, disparity, family.ridges)
            coefficients = np.concatenate([path.coefficients() for path in paths])
            found[name] = Corrections(coefficients, -columns.apply(coefficients) @ own.weight)
        return cls(families, found, float(own.weight @ prediction))

    @property
    def names(self) -> list[str]:
        """One per candidate."""
        counted = {name: len(own.intercepts) for name, own in self.corrections.items()}
        return [AS_IS, CONSTANT, *(f"{name} {number}" for name, count in counted.items() for number in range(count))]

    def predict(self, model: ExistingModel, rows: Index) -> Array:
        """Predictions of all candidates on some of the model's rows, (candidate, row)."""
        before = model.prediction[rows]
        parts = [before[None], np.full((1, len(rows)), self.constant)]
        for name, own in self.corrections.items():
            change = self.families[name].columns.take(rows).apply(own.coefficients)
            parts.append(before + change + own.intercepts[:, None])
        return np.concatenate(parts)

    def change(self, shares: Array) -> Change:
        """A mixture of the candidates as one change; shares (candidate,)."""
        if shares[0] == 1:
            return Change(1.0, 0.0, {})
        intercept, start, coefficients = float(shares[1]) * self.constant, 2, {}
        for name, own in self.corrections.items():
            part = shares[start : start + len(own.intercepts)]
            coefficients[name] = part @ own.coefficients
            intercept += float(part @ own.intercepts)
            start += len(part)
        return Change(1 - float(shares[1]), intercept, coefficients)


def cross_fitted(model: ExistingModel, attributes: Attributes, fold: Index, seed: int) -> Array:
    """Predictions of all candidates on rows that did not fit them, (candidate, row)."""
    parts: dict[int, Array] = {}
    for number in np.unique(fold):
        fitted = FittedCorrections.on(model, attributes, np.flatnonzero(fold != number), seed)
        parts[int(number)] = fitted.predict(model, np.flatnonzero(fold == number))
    found = np.empty((len(next(iter(parts.values()))), len(fold)))
    for number, predictions in parts.items():
        found[:, fold == number] = predictions
    found[CONSTANT_PLACE] = attributes.weight @ model.prediction  # one value: else it would vary between folds
    return found

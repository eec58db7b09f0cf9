"""Rows that a grid is trained on; every step sees all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairlevel.arrays import AnyArray, Array, Index
from fairlevel.conditional_mean.attributes import Attributes, concatenated
from fairlevel.data.scaling import Scaler
from fairlevel.exceptions import MissingSensitiveFeatures
from fairlevel.penalties import Penalty
from fairlevel.penalties.protocol import RowPlan
from fairlevel.penalties.toolkit import weights_of_part
from fairlevel.predictors.protocol import LearnerFactory


@dataclass(frozen=True)
class TrainingRows:
    """Rows with y and attributes standardised; the first ``rows_in`` are IN, the others OUT.

    Shapes: x (row, feature), y (row,), attributes of the rows or None.
    """

    x: Array
    y: Array
    attributes: Attributes | None = None
    rows_in: int = 0
    row_weight: Array | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def some_attributes(self) -> Attributes:
        """The attributes; where there are none, a table without columns."""
        if self.attributes is not None:
            return self.attributes
        return Attributes(np.empty((len(self), 0)), row_weight=self.row_weight)

    def take(self, index: Index) -> TrainingRows:
        """Some of the rows; the first half of them are IN."""
        attributes = None if self.attributes is None else self.attributes.take(index)
        weight = None if self.row_weight is None else self.row_weight[index]
        return TrainingRows(self.x[index], self.y[index], attributes, len(index) // 2, weight)

    def joined(self, other: TrainingRows) -> TrainingRows:
        """Both sets of rows; which of them were IN is forgotten."""
        x, y = np.concatenate([self.x, other.x]), np.concatenate([self.y, other.y])
        weight = concatenated(self.row_weight, other.row_weight)
        if self.attributes is None or other.attributes is None:
            return TrainingRows(x, y, None, row_weight=weight)
        return TrainingRows(x, y, self.attributes.joined(other.attributes), row_weight=weight)


@dataclass(frozen=True)
class StepRows:
    """What one step sees, where the learner trains.

    Shapes: inputs (row, …), target (row,); ``accuracy`` are the rows that carry the accuracy term, with weights that
    sum to 1, (accuracy row,); ``count`` is how many rows the weights stand for.
    """

    inputs: AnyArray
    target: AnyArray
    accuracy: slice
    accuracy_weight: AnyArray
    count: float


def _count(rows: int, row_weight: Array | None) -> float:
    """How many rows the weights, (row,), stand for: their sum w, but no less than w² / Σ w_i², which weights that count
    rows never fall below. Weights that sum to 1 thus count as as many rows as they use.
    """
    if row_weight is None:
        return float(rows)
    scaled = row_weight / row_weight.max()
    return float(max(row_weight.sum(), scaled.sum() ** 2 / (scaled @ scaled)))


@dataclass(frozen=True)
class AllRows:
    """All rows at every step; ``plan`` says which fit, evaluate and carry accuracy (None: as the penalty says)."""

    rows: TrainingRows
    plan: RowPlan | None = None
    x_scaler: Scaler | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def has_attributes(self) -> bool:
        return self.rows.attributes is not None

    def limited(self, most: int) -> AllRows:
        return self if len(self) <= most else replace(self, rows=self.rows.take(np.arange(most)))

    def tuned(self, penalty: Penalty, seed: int) -> Penalty:
        return penalty.tuned(self.rows.some_attributes, self.rows.y, seed)

    def on_backend(self, factory: LearnerFactory, accuracy: slice) -> StepRows:
        """The rows as a learner reads them."""
        weight = weights_of_part(self.rows.row_weight, accuracy, len(self.rows))
        array = factory.backend.array
        return StepRows(
            factory.inputs(self.rows.x),
            array(self.rows.y),
            accuracy,
            array(weight),
            _count(len(self.rows), self.rows.row_weight),
        )


def require_attributes(rows: AllRows, weight: Array) -> None:
    """A positive weight asks for attributes."""
    if not rows.has_attributes and (weight > 0).any():
        raise MissingSensitiveFeatures("weight > 0 asks for fairness, but the rows carry no sensitive attributes.")

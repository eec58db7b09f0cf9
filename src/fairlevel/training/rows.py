"""Rows that a grid is trained on; every step sees all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean.attributes import Attributes, concatenated
from fairlevel.data.scaling import Scaler
from fairlevel.penalties import Penalty


@dataclass(frozen=True)
class TrainingRows:
    """Rows with y and attributes standardised. Shapes: x (row, feature), y (row,), attributes of the rows or None."""

    x: Array
    y: Array
    attributes: Attributes | None = None
    row_weight: Array | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def some_attributes(self) -> Attributes:
        """The attributes; where there are none, a table without columns."""
        if self.attributes is not None:
            return self.attributes
        return Attributes(np.empty((len(self), 0)), row_weight=self.row_weight)

    @property
    def count(self) -> float:
        """How many rows the weights stand for: their sum w, but no less than w² / Σ w_i², which weights that count rows
        never fall below. Weights that sum to 1 thus count as as many rows as they use.
        """
        if self.row_weight is None:
            return float(len(self))
        scaled = self.row_weight / self.row_weight.max()
        return float(max(self.row_weight.sum(), scaled.sum() ** 2 / (scaled @ scaled)))

    def take(self, index: Index) -> TrainingRows:
        """Some of the rows."""
        attributes = None if self.attributes is None else self.attributes.take(index)
        weight = None if self.row_weight is None else self.row_weight[index]
        return TrainingRows(self.x[index], self.y[index], attributes, weight)

    def joined(self, other: TrainingRows) -> TrainingRows:
        """Both sets of rows."""
        x, y = np.concatenate([self.x, other.x]), np.concatenate([self.y, other.y])
        weight = concatenated(self.row_weight, other.row_weight)
        if self.attributes is None or other.attributes is None:
            return TrainingRows(x, y, None, weight)
        return TrainingRows(x, y, self.attributes.joined(other.attributes), weight)


@dataclass(frozen=True)
class AllRows:
    """Rows to train on, and what standardises their features, for predictors that need it."""

    rows: TrainingRows
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

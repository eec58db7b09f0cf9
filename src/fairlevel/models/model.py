"""A fitted model: a weighted sum of members."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlevel.arrays import Array
from fairlevel.data.scaling import Scaler
from fairlevel.members import Members


@dataclass(frozen=True)
class Model:
    r"""f(x) = ȳ + s_y Σ_m v_m f_m(x): one member, a solved head or a mixture.

    Members of one kind are evaluated together as a group. Shapes: proportions v (member,), over all groups in order.
    """

    groups: tuple[Members, ...]
    proportions: Array
    y_scaler: Scaler

    def __len__(self) -> int:
        return len(self.proportions)

    @property
    def native(self) -> bool:
        """Whether all members read gaps (NaN)."""
        return all(group.native for group in self.groups)

    def predict(self, x: Array) -> Array:
        """Predictions in units of y, in float64: (row, feature) -> (row,)."""
        return self.y_scaler.inverse(weighted_sums(self.groups, self.proportions, x))


def weighted_sums(groups: tuple[Members, ...], proportions: Array, x: Array, device: str = "cpu") -> Array:
    """Σ_m v_m f_m(x): proportions (…, member), x (row, feature) -> (…, row)."""
    total = np.zeros((*proportions.shape[:-1], len(x)))
    start = 0
    for group in groups:
        total += proportions[..., start : start + len(group)] @ group.predict(x, device)
        start += len(group)
    return total


def class_probabilities(models: tuple[Model, ...], x: Array) -> Array:
    """Probabilities of all classes, (row, feature) -> (row, class). One model is for the second of two classes; of
    several, one per class, the probabilities are divided by their sum.
    """
    return from_scores(np.stack([model.predict(x) for model in models], axis=1))


def from_scores(scores: Array) -> Array:
    """The probabilities of all classes from what the models predict: (row, model) -> (row, class)."""
    found = np.clip(scores, 0.0, 1.0)
    if found.shape[1] == 1:
        return np.hstack([1 - found, found])
    total = found.sum(axis=1, keepdims=True)
    return np.where(total > 0, found / np.where(total > 0, total, 1.0), 1 / found.shape[1])

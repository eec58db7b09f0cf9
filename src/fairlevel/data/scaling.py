"""Centring and scaling of columns, fitted on training rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlevel.arrays import Array, Flags


def vary(values: Array, centre: Array, scale: Array) -> Flags:
    """Which columns differ between rows by more than rounding. Shapes: values (row, column); centre, scale and result
    (column,). Differences of some last bits are rounding, but not those of whole numbers, such as long codes.
    """
    varies: Flags = np.ptp(values, axis=0) > 0
    close = varies & (scale <= 8 * np.finfo(np.float64).eps * np.abs(centre))
    if close.any():
        varies[close] = (values[:, close] == np.rint(values[:, close])).all(axis=0)
    return varies


@dataclass(frozen=True)
class Scaler:
    """(v − mean) / scale per column, clipped at ± ``clip``. A constant column becomes 0; :meth:`inverse` restores its
    constant.
    """

    mean: Array
    scale: Array
    clip: float = np.inf

    @classmethod
    def fit(cls, values: Array, sample_weight: Array | None = None, clip: float = np.inf) -> Scaler:
        mean = np.average(values, axis=0, weights=sample_weight)
        scale = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=sample_weight))
        varies = vary(values, mean, scale)
        return cls(np.where(varies, mean, values[0]), np.where(varies, scale, 0.0), clip)

    @classmethod
    def identity(cls, columns: int) -> Scaler:
        """Leaves values as they are."""
        return cls(np.zeros(columns), np.ones(columns))

    @property
    def inverse_scale(self) -> Array:
        """1 / scale, and 0 for a constant column."""
        return np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)

    def transform(self, values: Array) -> Array:
        return np.clip((values - self.mean) * self.inverse_scale, -self.clip, self.clip)

    def inverse(self, values: Array) -> Array:
        return self.mean + self.scale * values

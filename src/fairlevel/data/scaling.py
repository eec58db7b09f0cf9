"""Centring and scaling by training rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True)
class Scaler:
    """(v − mean) / scale per column, clipped at ± ``clip``; columns that do not vary become 0, and come back as their
    constant.
    """

    mean: Array
    scale: Array
    clip: float = np.inf

    @classmethod
    def fit(cls, values: Array, sample_weight: Array | None = None, clip: float = np.inf) -> Scaler:
        mean = np.average(values, axis=0, weights=sample_weight)
        scale = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=sample_weight))
        varies = (np.ptp(values, axis=0) > 0) & (scale > 8 * np.finfo(np.float64).eps * np.abs(mean))
        return cls(np.where(varies, mean, values[0]), np.where(varies, scale, 0.0), clip)

    @property
    def inverse_scale(self) -> Array:
        """1 / scale, 0 where a column does not vary."""
        return np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)

    def transform(self, values: Array) -> Array:
        return np.clip((values - self.mean) * self.inverse_scale, -self.clip, self.clip)

    def inverse(self, values: Array) -> Array:
        return self.mean + self.scale * values

"""A fixed map of the features that stands before a trained network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairlevel.arrays import AnyArray, Array
from fairlevel.data.scaling import Scaler


@dataclass(frozen=True)
class InputMap:
    r"""z = (φ(u) − m) M with u = (x − x̄) / s, φ(u) = √2 cos(u W + b), or φ(u) = u where there are no waves; without M,
    z = φ(u); without x̄, u = x.

    Shapes: mean x̄ and inverse_scale 1/s (feature,), frequencies W (feature, wave), phases b (wave,), centre m (wave or
    feature,), mixing M (wave or feature, input); x (row, feature) -> (row, input).
    """

    mean: Array | None = None
    inverse_scale: Array | None = None
    frequencies: Array | None = None
    phases: Array | None = None
    centre: Array | None = None
    mixing: Array | None = None

    @classmethod
    def standardising(cls, scaler: Scaler | None) -> InputMap:
        """The map that applies a scaler, or the identity."""
        return cls() if scaler is None else cls(scaler.mean, scaler.inverse_scale)

    def __call__(self, x: AnyArray) -> Any:
        def like(value: Array) -> Array:
            return value.astype(x.dtype, copy=False)

        signal = x
        if self.mean is not None and self.inverse_scale is not None:
            signal = signal - like(self.mean)
            signal *= like(self.inverse_scale)
        if self.frequencies is not None and self.phases is not None:
            signal = signal @ like(self.frequencies) + like(self.phases)
            signal = np.cos(signal, out=signal) * 2**0.5
        if self.centre is None or self.mixing is None:
            return signal
        return (signal - like(self.centre)) @ like(self.mixing)

    def whitened(self, x: Array, ridge: float) -> InputMap:
        """This map followed by M = V (s + ridge·s_max)^{-1/2}, eigenvectors of the covariance of φ(x), scaled.

        All directions are then learnt at the same speed. Directions that do not vary are dropped. Shapes: x (row,
        feature).
        """
        features = self(x.astype(np.float64, copy=False))
        centre = features.mean(axis=0)
        moments, directions = np.linalg.eigh((features - centre).T @ (features - centre) / len(features))
        largest = moments.max(initial=1e-300)
        rounding = 1e-26 * (features**2).sum(axis=1).mean()  # what constant features seem to vary by
        kept = (moments > 1e-9 * largest) & (moments > rounding)
        return replace(self, centre=centre, mixing=directions[:, kept] / np.sqrt(moments[kept] + ridge * largest))

"""A fixed map of the features that stands before a trained network."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fairlevel.data.scaling import Scaler


@dataclass(frozen=True)
class InputMap:
    r"""z = (φ(u) − m) M with u = (x − x̄) / s, φ(u) = √2 cos(u W + b), or φ(u) = u where there are no waves; without M,
    z = φ(u); without x̄, u = x.

    Shapes: mean x̄ and inverse_scale 1/s (feature,), frequencies W (feature, wave), phases b (wave,), centre m (wave or
    feature,), mixing M (wave or feature, input); x (row, feature) -> (row, input).
    """

    mean: Tensor | None = None
    inverse_scale: Tensor | None = None
    frequencies: Tensor | None = None
    phases: Tensor | None = None
    centre: Tensor | None = None
    mixing: Tensor | None = None

    @classmethod
    def standardising(cls, scaler: Scaler | None) -> InputMap:
        """The map that applies a scaler, or the identity."""
        if scaler is None:
            return cls()
        return cls(torch.from_numpy(scaler.mean), torch.from_numpy(scaler.inverse_scale))

    def __call__(self, x: Tensor) -> Tensor:
        if self.mean is not None and self.inverse_scale is not None:
            x = (x - self.mean.to(x)).mul_(self.inverse_scale.to(x))
        if self.frequencies is not None and self.phases is not None:
            x = torch.cos(torch.matmul(x, self.frequencies.to(x)) + self.phases.to(x)) * 2**0.5
        if self.centre is None or self.mixing is None:
            return x
        return torch.matmul(x - self.centre.to(x), self.mixing.to(x))

    def require_shape(self, features: int, inputs: int) -> None:
        """Raise ValueError unless the map takes ``features`` numbers to ``inputs`` numbers."""
        waves = features if self.frequencies is None else self.frequencies.shape[-1]
        expected = {
            "mean": (features,),
            "inverse_scale": (features,),
            "frequencies": (features, waves),
            "phases": (waves,),
            "centre": (waves,),
            "mixing": (waves, inputs),
        }
        for name, shape in expected.items():
            value = getattr(self, name)
            if value is not None and tuple(value.shape) != shape:
                raise ValueError(f"input_{name} has shape {tuple(value.shape)}, not {shape}")
        pairs = (("mean", "inverse_scale"), ("frequencies", "phases"), ("centre", "mixing"))
        for first, second in pairs:
            if (getattr(self, first) is None) != (getattr(self, second) is None):
                raise ValueError(f"one of input_{first} and input_{second} is missing")
        if self.mixing is None and waves != inputs:
            raise ValueError(f"networks read {inputs} numbers, and the input map gives {waves}")

    def whitened(self, x: Tensor, ridge: float) -> InputMap:
        """This map followed by M = V (s + ridge·s_max)^{-1/2}, eigenvectors of the covariance of φ(x), scaled.

        All directions are then learnt at the same speed. Directions that do not vary are dropped. Shapes: x (row,
        feature).
        """
        features = self(x.double())
        centre = features.mean(dim=0)
        moments, directions = torch.linalg.eigh((features - centre).T @ (features - centre) / len(features))
        largest = torch.cat([moments, moments.new_full((1,), 1e-300)]).max()
        rounding = 1e-26 * features.square().sum(dim=1).mean()  # what constant features seem to vary by
        kept = (moments > 1e-9 * largest) & (moments > rounding)
        return replace(self, centre=centre, mixing=directions[:, kept] / (moments[kept] + ridge * largest).sqrt())

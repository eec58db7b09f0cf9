"""A fixed map of the features that stands before a trained network."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class InputMap:
    r"""z = (φ(x) − m) M with φ(x) = √2 cos(x W + b), or φ(x) = x where there are no waves; without M, z = φ(x).

    Shapes: frequencies W (feature, wave), phases b (wave,), centre m (wave or feature,),
    mixing M (wave or feature, input); x (row, feature) -> (row, input).
    """

    frequencies: Tensor | None = None
    phases: Tensor | None = None
    centre: Tensor | None = None
    mixing: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        if self.frequencies is not None and self.phases is not None:
            x = torch.cos(torch.matmul(x, self.frequencies.to(x)) + self.phases.to(x)) * 2**0.5
        if self.centre is None or self.mixing is None:
            return x
        return torch.matmul(x - self.centre.to(x), self.mixing.to(x))

    def whitened(self, x: Tensor, ridge: float) -> InputMap:
        """This map followed by M = V (s + ridge·s_max)^{-1/2}, eigenvectors of the covariance of φ(x), scaled.

        All directions are then learnt at the same speed. Directions that do not vary are dropped. Shapes: x (row,
        feature).
        """
        features = self(x.double())
        centre = features.mean(dim=0)
        moments, directions = torch.linalg.eigh((features - centre).T @ (features - centre) / len(features))
        largest = torch.cat([moments, moments.new_full((1,), 1e-300)]).max()
        kept = moments > 1e-9 * largest
        return replace(self, centre=centre, mixing=directions[:, kept] / (moments[kept] + ridge * largest).sqrt())

"""What a predictor is: something that follows a gradient in prediction space.

A predictor never sees A or y. All predictors here are a fixed map of X followed by a stacked network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import torch
from torch import Tensor

from fairlevel.stacked.network import Network

Residuals = tuple[Tensor, ...]


@dataclass(frozen=True)
class InputMap:
    r"""z = φ(x) M with φ(x) = √2 cos(x W + b), or φ(x) = x where there are no waves; without M, z = φ(x).

    Shapes: frequencies W (feature, wave), phases b (wave,), mixing M (wave or feature, input); x (row, feature) ->
    (row, input).
    """

    frequencies: Tensor | None = None
    phases: Tensor | None = None
    mixing: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        if self.frequencies is not None and self.phases is not None:
            x = torch.cos(x @ self.frequencies.to(x) + self.phases.to(x)) * 2**0.5
        return x if self.mixing is None else torch.mm(x, self.mixing.to(x.device, x.dtype))


def whitening(features: Tensor, ridge: float) -> Tensor:
    """M = V (s + ridge·s_max)^{-1/2}, the eigenvectors of the features' covariance scaled: descent then sees a round
    bowl, not a valley.

    Shapes: features (row, feature) in float64 -> (feature, direction); directions that do not vary are dropped.
    """
    centred = features - features.mean(dim=0)
    moments, directions = torch.linalg.eigh(centred.T @ centred / len(features))
    largest = moments.max().clamp_min(1e-300)
    kept = moments > 1e-9 * largest
    return directions[:, kept] / (moments[kept] + ridge * largest).sqrt()


@runtime_checkable
class Predictor(Protocol):
    """One object per kind of model; frozen."""

    name: ClassVar[str]

    def input_map(self, x: Tensor, seed: int) -> InputMap:
        """What is computed once from the standardised features, (row, feature)."""

    def network(self, inputs: int) -> Network:
        """The trained part, on top of the input map."""

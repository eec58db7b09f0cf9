r"""The whole front of a linear head from one eigendecomposition.

With centred features F of x (the last hidden layer of trained networks, or the inputs of a linear model), a linear
smoother S of A and f = F w,

.. math:: w(\alpha) = \arg\min_w \tfrac1n \|F w - y\|^2 + \lambda \|w\|^2 + \alpha\, \tfrac1n w^\top F^\top S F w .

One Cholesky factor M = FᵀF/n + λI = LLᵀ and one eigendecomposition L⁻¹(FᵀSF/n)L⁻ᵀ = U diag(d) Uᵀ give every α at once:
w(α) = L⁻ᵀU (z / (1 + αd)) with z = UᵀL⁻¹Fᵀy/n, and DPVar(α) = Σ d z² / (1 + αd)², which falls in α.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from scipy.optimize import brentq
from torch import Tensor

from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.exceptions import InvalidInput
from fairlevel.networks.network import Network


@dataclass(frozen=True)
class SpectralHead:
    """Shapes: basis L⁻ᵀU (feature, direction), disparity d (direction,), signal z (direction,), centre (feature,);
    ``offset`` is the mean target.
    """

    basis: Tensor
    disparity: Tensor
    signal: Tensor
    centre: Tensor
    offset: float

    def coefficients(self, weights: Tensor) -> Tensor:
        """w(α) for each weight: (weight,) -> (weight, feature)."""
        return (self.signal / (1 + weights.unsqueeze(1) * self.disparity)) @ self.basis.T

    def intercepts(self, coefficients: Tensor) -> Tensor:
        """What makes the mean prediction the mean target: (weight, feature) -> (weight,)."""
        return self.offset - coefficients @ self.centre

    def dpvar(self, weights: Tensor) -> Tensor:
        """Smoothed DPVar on the training rows, (weight,)."""
        shrunk = self.signal / (1 + weights.unsqueeze(1) * self.disparity)
        return (self.disparity * shrunk.square()).sum(dim=-1)

    def weight_at(self, budget: float) -> float:
        """The smallest α with DPVar(α) ≤ budget on the training rows: the root of the secular equation."""
        if not budget > 0:
            raise InvalidInput(f"budget={budget} was given; a positive number is needed.")

        def excess(weight: float) -> float:
            return float(self.dpvar(torch.tensor([weight], dtype=torch.float64))) - budget

        if excess(0.0) <= 0:
            return 0.0
        high = 1.0
        while excess(high) > 0:
            high *= 4
        return float(brentq(excess, 0.0, high, xtol=1e-12 * high))


def spectral_head(
    features: Tensor, target: Tensor, smoother: LinearSmoother, smoother_ridge: float, ridge: float
) -> SpectralHead:
    """Diagonalise in float64. Shapes: features (row, feature), target (row,)."""
    features, weight = features.double(), smoother.row_weight.double()
    centre, offset = weight @ features, float(weight @ target)
    centred = features - centre
    scale = float((weight @ centred.square()).mean().clamp_min(1e-300))
    moments = centred.T @ (weight.unsqueeze(1) * centred)
    moments += ridge * scale * torch.eye(len(moments), dtype=torch.float64)
    smoothed = smoother.apply(centred.T, smoother_ridge)
    between = smoothed @ (weight.unsqueeze(1) * centred)
    lower = torch.linalg.cholesky(moments)
    inner = torch.linalg.solve_triangular(lower, (between + between.T) / 2, upper=False)
    inner = torch.linalg.solve_triangular(lower, inner.T, upper=False)
    disparity, directions = torch.linalg.eigh((inner + inner.T) / 2)
    right = torch.linalg.solve_triangular(
        lower, (centred.T @ (weight * (target - offset))).unsqueeze(1), upper=False
    ).squeeze(1)
    basis = torch.linalg.solve_triangular(lower.T, directions, upper=True)
    return SpectralHead(basis, disparity.clamp_min(0), directions.T @ right, centre, offset)


def last_features(network: Network, parameters: Tensor, inputs: Tensor) -> Tensor:
    """What the last layers of several networks see, side by side: (network, parameter), (row, input) -> (row, network ·
    unit).
    """
    if not network.hidden:
        return inputs.double()
    activations = network.forward_all(parameters.double(), inputs.double())[1][-1]
    return activations.transpose(0, 1).flatten(1)


def with_heads(network: Network, parameters: Tensor, coefficients: Tensor, intercepts: Tensor) -> Tensor:
    """Networks whose sum is the head: (network, parameter), (weight, network · unit), (weight,) -> (weight, network,
    parameter). Only the last layer differs; the intercept goes to the first.
    """
    last = network.layers[-1]
    bodies = parameters if network.hidden else parameters[:1]
    heads = bodies.double().repeat(len(coefficients), 1, 1)
    heads[:, :, last.weight] = coefficients.reshape(len(coefficients), len(bodies), -1)
    heads[:, :, last.bias] = 0
    heads[:, 0, last.bias] = intercepts.unsqueeze(1)
    return heads

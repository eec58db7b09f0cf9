r"""The whole front of a linear head from one eigendecomposition.

With centred features F of x (what the last linear step of trained members reads), a linear
smoother S of A and f = F w,

.. math:: w(\alpha) = \arg\min_w \tfrac1n \|F w - y\|^2 + \lambda \|w\|^2 + \alpha\, \tfrac1n w^\top F^\top S F w .

One Cholesky factor M = FᵀF/n + λI = LLᵀ and one eigendecomposition L⁻¹(FᵀSF/n)L⁻ᵀ = U diag(d) Uᵀ give every α at once:
w(α) = L⁻ᵀU (z / (1 + αd)) with z = UᵀL⁻¹Fᵀy/n, and DPVar(α) = Σ d z² / (1 + αd)², which falls in α.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.penalties.smoothing import TensorSmoother

FURTHER_RIDGES = 10.0 ** np.arange(8)
"""Multiples of a ridge that rows which are left out may ask for."""


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


def spectral_head(
    features: Tensor, target: Tensor, smoother: TensorSmoother, smoother_ridge: float, ridge: float
) -> SpectralHead:
    """Diagonalise in float64. Shapes: features (row, feature), target (row,)."""
    features, weight = features.double(), smoother.row_weight.double()
    centre, offset = weight @ features, float(weight @ target)
    centred = features - centre
    scale = float((weight @ centred.square()).mean().clamp_min(1e-300))
    moments = centred.T @ (weight.unsqueeze(1) * centred)
    moments += ridge * scale * torch.eye(len(moments), dtype=torch.float64)
    smoothed = smoother.smoothed(smoother.beyond_nuisance(centred.T), smoother_ridge)
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


def leave_one_out_ridge(features: Array, target: Array, row_weight: Array, least: float) -> float:
    """The ridge, from ``least`` on, at which the head without a penalty errs least on rows that are left out one by
    one; in the units of :func:`spectral_head`. Features may not know the target. Shapes: (row, feature), (row,), (row,)
    with sum 1.
    """
    centred, root = features - row_weight @ features, np.sqrt(row_weight)
    moments, directions = np.linalg.eigh((root[:, None] * centred).T @ (root[:, None] * centred))
    scale = max(float(moments.clip(0).mean()), 1e-300)  # the mean second moment of the features
    scores, away = centred @ directions, target - row_weight @ target
    products = scores.T @ (row_weight * away)
    ridges = least * FURTHER_RIDGES
    errors = np.empty(len(ridges))
    for number, ridge in enumerate(ridges):
        inverse = 1 / (moments.clip(0) + ridge * scale)
        leverage = row_weight * (1 + scores**2 @ inverse)
        left_out = (away - scores @ (inverse * products)) / np.maximum(1 - leverage, 1e-12)
        errors[number] = row_weight @ left_out**2
    return float(ridges[errors.argmin()])

r"""A linear smoother in moment form, for rows that come in batches.

With centred features z̃(a) of A, G = E[z̃ z̃ᵀ] and the ridge on the penalised part R,

.. math:: h(a) - \mu = \tilde z(a)^\top (G + \lambda R)^{-1} m, \qquad m = E[\tilde z(A) f(X)] .

G is factored once. In its eigenbasis, b and d of :mod:`fairlevel.conditional_mean.blockwise`, and with v_j = √d_j b_j,

.. math:: h(a) - \mu = v(a)^\top c, \qquad P = \operatorname{Cov}(f, h) = \lVert c \rVert^2, \qquad c = E[v(A) f(X)] ,

so that training only keeps c of the predictions. The cost of a step grows with the number of functions v, so only a
few directions of the penalised ones are kept: the one that contains all of the target's own P, and those that vary
most. P is then the same for the target, and for other predictions never larger than with all functions.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean.blockwise import orthonormal
from fairlevel.conditional_mean.protocol import LinearMean, standardiser
from fairlevel.conditional_mean.spectrum import Spectrum

MOST_PENALISED = 12
BLOCK = 2_048  # rows at a time, whose features stay in a cache


def moment_functions(mean: LinearMean, sensitive: Array, order: Index, target: Array, seed: int) -> Tensor:
    """v at the rows in this order, in float32, (row, function). ``target`` belongs to the first of them: G is factored
    on those, and a ridge of None is replaced by the one that cross-validates best for the target on A.

    Shapes: sensitive (any row, attribute), order (row,), target (first row,).
    """
    sample = sensitive.take(order[: len(target)], axis=0).astype(np.float64)
    weight = np.full(len(sample), 1 / len(sample))
    standardise = standardiser(sample, weight)
    standard = standardise(sample)
    features = mean.feature_map(standard, weight, seed)
    free, penalised = map(torch.from_numpy, features(standard))
    centre, transform, count = _to_functions(free, penalised, torch.from_numpy(target), mean.ridge)
    transform, offset, plain = transform.float(), (centre @ transform).float(), free.shape[1]
    # NumPy asks the system for large pages, which are read faster
    values = torch.from_numpy(np.empty((len(order), transform.shape[1]), dtype=np.float32))
    for start in range(0, len(order), BLOCK):
        part = slice(start, start + BLOCK)
        found = features(standardise(sensitive.take(order[part], axis=0)).astype(np.float32))
        free, penalised = (torch.from_numpy(each).float() for each in found)
        torch.addmm(-offset, free, transform[:plain], out=values[part])
        values[part, count:].addmm_(penalised, transform[plain:, count:])  # free functions do not use them
    return values


def _to_functions(free: Tensor, penalised: Tensor, target: Tensor, ridge: float | None) -> tuple[Tensor, Tensor, int]:
    """Means of the features of these rows, the map from centred features to functions, (feature, function), and how
    many of the functions, the first ones, are free.
    """
    features = torch.cat([free, penalised], dim=1)
    centre = features.mean(dim=0)
    centred = features.sub_(centre)
    transform, moments, _ = orthonormal(centred.T @ centred / len(features), free.shape[1])
    count = transform.shape[1] - len(moments)
    spectrum = Spectrum(1 + count, moments, len(features))
    coefficients = torch.cat([target.mean().unsqueeze(0), target @ centred @ transform / len(features)])
    chosen = spectrum.choose_ridge(coefficients.square().unsqueeze(0), target.square().mean().unsqueeze(0))
    root = spectrum.shrinkage(float(chosen) if ridge is None else ridge)[1 + count :].sqrt()
    towards_target = coefficients[1 + count :] * root
    first = torch.eye(len(root), dtype=root.dtype)[:, : MOST_PENALISED - 1]  # moments fall
    directions = torch.linalg.qr(torch.cat([towards_target.unsqueeze(1), first], dim=1)).Q
    curved = transform[:, count:] * root @ directions
    return centre, torch.cat([transform[:, :count], curved], dim=1), count


def ridge_coefficients(covariance: Tensor, moments: Tensor, free: int, ridge: float) -> Tensor:
    """(G + λR)⁻¹ m, (feature,), from G (feature, feature) and m (feature,) of (free, penalised) features, each of a
    spread near 1. Where free features are linear combinations of each other, the smallest coefficients.
    """
    penalty = torch.full_like(moments, ridge)
    penalty[:free] = 1e-9  # keeps the matrix definite; far below what a coefficient can be known to
    factor, _ = torch.linalg.cholesky_ex(covariance + torch.diag(penalty))
    return torch.cholesky_solve(moments.unsqueeze(1), factor).squeeze(1)

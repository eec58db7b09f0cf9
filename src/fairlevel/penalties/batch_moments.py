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
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.protocol import LinearMean

MOST_PENALISED = 12
BLOCK = 2_048  # rows at a time, whose features stay in a cache


def moment_functions(mean: LinearMean, sensitive: Array, order: Index, target: Array, seed: int) -> Tensor:
    """v at the rows in this order, in float32, (row, function). ``target`` belongs to the first of them: G is factored
    on those, and a ridge of None is replaced by the one that cross-validates best for the target on A.

    Shapes: sensitive (any row, attribute), order (row,), target (first row,).
    """
    target = np.asarray(target, dtype=np.float64)
    sample = Attributes(sensitive.take(order[: len(target)], axis=0).astype(np.float64))
    smoother = mean.prepare(sample, seed=seed)
    ridge = float(smoother.choose_ridge(target[None])[0]) if mean.ridge is None else mean.ridge
    free, root = smoother.free, np.sqrt(smoother.shrinkage(ridge))[smoother.free :]
    towards_target = smoother.coefficients(target[None])[0, free:] * root
    first = np.eye(len(root))[:, : MOST_PENALISED - 1]  # moments fall
    directions = np.linalg.qr(np.column_stack([towards_target, first]))[0]
    values = np.empty((len(order), free + directions.shape[1]), dtype=np.float32)
    for start in range(0, len(order), BLOCK):
        part = slice(start, start + BLOCK)
        _, functions = smoother.at(Attributes(sensitive.take(order[part], axis=0).astype(np.float64)))
        written = functions.written_out()
        values[part, :free], values[part, free:] = written[:, :free], written[:, free:] * root @ directions
    return torch.from_numpy(values)


def waves(rows: Tensor, frequencies: Tensor, phases: Tensor) -> Tensor:
    """Random Fourier features of standardised rows of A: (row, attribute) -> (row, feature)."""
    return torch.addmm(phases, rows, frequencies).cos_().mul_((2 / len(phases)) ** 0.5)


def ridge_coefficients(covariance: Tensor, moments: Tensor, free: int, ridge: float) -> Tensor:
    """(G + λR)⁻¹ m, (feature,), from G (feature, feature) and m (feature,) of (free, penalised) features, each of a
    spread near 1. Where free features are linear combinations of each other, the smallest coefficients.
    """
    penalty = torch.full_like(moments, ridge)
    penalty[:free] = 1e-9  # keeps the matrix definite; far below what a coefficient can be known to
    factor, _ = torch.linalg.cholesky_ex(covariance + torch.diag(penalty))
    return torch.cholesky_solve(moments.unsqueeze(1), factor).squeeze(1)

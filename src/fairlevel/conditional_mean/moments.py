r"""A linear smoother in moment form, for rows that come in batches.

With centred features z̃(a) of A, G = E[z̃ z̃ᵀ] and the ridge on the penalised part R,

.. math:: h(a) - \mu = \tilde z(a)^\top (G + \lambda R)^{-1} m, \qquad m = E[\tilde z(A) f(X)] .

G is factored once. In its eigenbasis, b and d of :mod:`fairlevel.conditional_mean.streamed`, and with v_j = √d_j b_j,

.. math:: h(a) - \mu = v(a)^\top c, \qquad P = \operatorname{Cov}(f, h) = \lVert c \rVert^2, \qquad c = E[v(A) f(X)] ,

so that c is all that training has to remember of the predictions. Every function v is read at every step, which is what
fairness costs here; of the penalised ones few directions are kept: the one that holds all of the target's own P, and
those that vary most. P is then the same for the target, and for others never more than that of all functions.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fairlevel.conditional_mean.protocol import Array, LinearMean, standardiser
from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.conditional_mean.streamed import StreamedRows, stream

MOST_PENALISED = 12
BLOCK = 8_192  # rows at a time


def moment_functions(mean: LinearMean, sensitive: Array, sample: Array, target: Array, seed: int) -> Tensor:
    """v at all rows in float32, (row, function); G is factored on ``sample`` rows, and an open ridge is the one that
    cross-validates best for the target on A. Shapes: sensitive (row, attribute), sample (sample row, attribute), target
    (sample row,).
    """
    weight = np.full(len(sample), 1 / len(sample))
    rows = stream(mean, sample, sample, weight, seed)
    transform, free = _to_functions(mean, rows, torch.from_numpy(target)).float(), rows.free - 1
    offset = rows.mean.float() @ transform
    standardise = standardiser(sample, weight)
    # NumPy asks for large pages, without which reading scattered rows takes half as long again
    values = torch.from_numpy(np.empty((len(sensitive), transform.shape[1]), dtype=np.float32))
    for start in range(0, len(sensitive), BLOCK):
        part = slice(start, start + BLOCK)
        linear, curved = map(
            torch.from_numpy, rows.features(standardise(sensitive[part]).astype(np.float32, copy=False))
        )
        torch.addmm(-offset, linear, transform[: linear.shape[1]], out=values[part])
        values[part, free:].addmm_(curved, transform[linear.shape[1] :, free:])  # the free ones do not use them
    return values


def _to_functions(mean: LinearMean, rows: StreamedRows, target: Tensor) -> Tensor:
    """The map from centred features to functions, (feature, function), free ones first."""
    basis = torch.cat([values for _, values in rows.blocks()])
    smoother = LinearSmoother(basis, basis, rows.moments, rows.row_weight)
    ridge = float(smoother.choose_ridge(target.unsqueeze(0))) if mean.ridge is None else mean.ridge
    root = rows.shrinkage(ridge)[rows.free :].sqrt()
    towards_target = smoother.coefficients(target.unsqueeze(0))[0, rows.free :] * root
    first = torch.eye(len(root), dtype=root.dtype)[:, : MOST_PENALISED - 1]  # moments fall
    directions = torch.linalg.qr(torch.cat([towards_target.unsqueeze(1), first], dim=1)).Q
    free = rows.transform[:, : rows.free - 1]
    return torch.cat([free, rows.transform[:, rows.free - 1 :] * root @ directions], dim=1)

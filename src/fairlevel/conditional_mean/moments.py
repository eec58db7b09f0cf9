r"""A linear smoother in moment form, for rows that come in batches.

With centred features z̃(a) of A, G = E[z̃ z̃ᵀ] and the ridge on the penalised part R,

.. math:: h(a) - \mu = \tilde z(a)^\top (G + \lambda R)^{-1} m, \qquad m = E[\tilde z(A) f(X)] .

In the eigenbasis of :mod:`fairlevel.conditional_mean.streamed` this is Σ_j d_j c_j b_j(a) with E[b bᵀ] = I and
c = E[b f]. G is factored once; c is all that training has to remember of the predictions, one number a basis function.
Of the penalised directions those that the ridge shrinks to next to nothing, compared with the first one, are left out,
and of more than 32 those that vary least: every one is read at every step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairlevel.conditional_mean.protocol import Array, LinearMean, standardiser
from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.conditional_mean.streamed import StreamedRows, stream

SMALLEST_SHRINKAGE = 0.02
MOST_PENALISED = 32
BLOCK = 4_096  # rows at a time


@dataclass(frozen=True)
class MomentBasis:
    """Basis values of all rows, and their shrinkage.

    Shapes: values (row, basis) in float32, E[values] = 0 and E[values valuesᵀ] = I; shrinkage d (basis,).
    """

    values: Tensor
    shrinkage: Tensor

    def to(self, device: torch.device) -> MomentBasis:
        """Shrinkage on a device; values stay where memory is large."""
        return MomentBasis(self.values, self.shrinkage.to(device))


def moment_basis(mean: LinearMean, sensitive: Array, sample: Array, target: Array, seed: int) -> MomentBasis:
    """Factor G on ``sample`` rows and evaluate the basis at all rows; an open ridge is the one that cross-validates
    best for the target on A. Shapes: sensitive (row, attribute), sample (sample row, attribute), target (sample row,).
    """
    weight = np.full(len(sample), 1 / len(sample))
    rows = stream(mean, sample, sample, weight, seed)
    shrinkage = rows.shrinkage(_ridge_for(target, rows) if mean.ridge is None else mean.ridge)[1:]
    kept, penalised = torch.ones_like(shrinkage, dtype=torch.bool), slice(len(shrinkage) - len(rows.moments), None)
    kept[penalised] = shrinkage[penalised] >= SMALLEST_SHRINKAGE * shrinkage[penalised][:1]  # they fall
    kept[penalised][MOST_PENALISED:] = False
    transform, free = rows.transform[:, kept].float(), rows.free - 1
    offset = rows.mean.float() @ transform
    standardise = standardiser(sample, weight)
    # NumPy asks for large pages, without which reading scattered rows takes half as long again
    values = torch.from_numpy(np.empty((len(sensitive), int(kept.sum())), dtype=np.float32))
    for start in range(0, len(sensitive), BLOCK):
        part = slice(start, start + BLOCK)
        linear, curved = map(torch.from_numpy, rows.features(standardise(sensitive[part]).astype(np.float32)))
        torch.addmm(-offset, linear, transform[: linear.shape[1]], out=values[part])
        values[part, free:].addmm_(curved, transform[linear.shape[1] :, free:])  # free directions are linear in A
    return MomentBasis(values, shrinkage[kept].float())


def _ridge_for(target: Array, rows: StreamedRows) -> float:
    basis = torch.cat([values for _, values in rows.blocks()])
    smoother = LinearSmoother(basis, basis, rows.moments, rows.row_weight)
    return float(smoother.choose_ridge(torch.from_numpy(target).unsqueeze(0)))

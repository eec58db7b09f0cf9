r"""A linear smoother of very many rows, two passes over blocks of them, never a basis of all.

The basis of :mod:`fairlevel.conditional_mean.smoother` is an affine map of the features, B(a) = (1, (z(a) − m) T), and
T follows from the mean m and the second moments of z = (free, penalised). The first pass collects those and E[w z f];
the second computes what belongs to rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.conditional_mean.leave_out import HIGH_LEVERAGE, LeaveOut, kept_share
from fairlevel.conditional_mean.protocol import FeatureMap, LinearMean, standardiser
from fairlevel.conditional_mean.smoother import RANK_TOLERANCE
from fairlevel.conditional_mean.spectrum import Spectrum

BLOCK = 50_000  # rows at a time


@dataclass(frozen=True)
class StreamedRows:
    """Rows as blocks of basis values: what the features are, and the affine map that makes them orthonormal.

    Shapes: sensitive (row, attribute) standardised, row_weight (row,) summing to 1, mean (feature,), transform
    (feature, basis), moments (penalised basis,).
    """

    sensitive: Array
    row_weight: Tensor
    features: FeatureMap
    mean: Tensor
    transform: Tensor
    moments: Tensor

    @cached_property
    def spectrum(self) -> Spectrum:
        """What a ridge does, whatever the rows."""
        rows = float(1 / self.row_weight.square().sum())
        return Spectrum(1 + self.transform.shape[1] - len(self.moments), self.moments, rows)

    def blocks(self) -> Iterator[tuple[slice, Tensor]]:
        """(rows, basis values (row, basis)) for all rows; the first basis vector is the constant."""
        for rows, values in _feature_blocks(self.sensitive, self.features):
            yield rows, torch.cat([values.new_ones(len(values), 1), (values - self.mean) @ self.transform], dim=1)


@dataclass(frozen=True)
class StreamedEvidence:
    """The leave-one-out estimate of one prediction, and what its uncertainty needs.

    Shapes: coefficients (basis,), scatter of the residuals and of the centred prediction (basis, basis), ``own`` the
    rows' own part of the null variance.
    """

    found: LeaveOut
    coefficients: Tensor
    residual_scatter: Tensor
    centred_scatter: Tensor
    own: float


def stream(mean: LinearMean, sample: Array, sensitive: Array, row_weight: Array, seed: int) -> StreamedRows:
    """First pass: features are fitted on ``sample`` rows, their moments on all. Shapes: (row, attribute), (row,)."""
    standardise = standardiser(sample, np.full(len(sample), 1 / len(sample)))
    features = mean.feature_map(standardise(sample), np.full(len(sample), 1 / len(sample)), seed)
    rows, weight = standardise(sensitive), torch.from_numpy(row_weight / row_weight.sum())
    first, second = None, None
    for part, values in _feature_blocks(rows, features):
        weighted = values * weight[part].unsqueeze(1)
        first = weighted.sum(dim=0) if first is None else first + weighted.sum(dim=0)
        second = weighted.T @ values if second is None else second + weighted.T @ values
    if first is None or second is None:
        raise ValueError("There are no rows.")
    free = features(rows[:1])[0].shape[1]
    transform, moments = orthonormal(second - torch.outer(first, first), free)
    return StreamedRows(rows, weight, features, first, transform, moments)


def leave_out_streamed(prediction: Tensor, rows: StreamedRows, ridge: float) -> StreamedEvidence:
    """Second and third pass: the estimate of :func:`leave_out_dpvar` for one prediction, (row,)."""
    weight = rows.row_weight
    shrinkage = rows.spectrum.shrinkage(ridge)
    kept = kept_share(shrinkage)
    count = len(shrinkage)
    coefficients = prediction.new_zeros(count)
    for part, basis in rows.blocks():
        coefficients += (weight[part] * prediction[part]) @ basis
    centred = prediction - coefficients[0]
    level, left_out, diagonal = (torch.empty_like(prediction) for _ in range(3))
    centred_scatter, residual_scatter = prediction.new_zeros(count, count), prediction.new_zeros(count, count)
    for part, basis in rows.blocks():
        squares = basis.square()
        left_out[part] = 1 - (squares @ shrinkage) * weight[part]
        diagonal[part] = (squares @ kept) * weight[part]
        level[part] = basis[:, 1:] @ (coefficients * shrinkage)[1:]
        residual = (centred[part] - level[part]) / left_out[part].clamp_min(1 - HIGH_LEVERAGE).sqrt()
        for scatter, values in ((centred_scatter, centred[part]), (residual_scatter, residual)):
            scaled = basis * (weight[part] * values).unsqueeze(1)
            scatter += scaled.T @ scaled
    left_out = left_out.clamp_min(1 - HIGH_LEVERAGE)
    noise = centred * (centred - level) / left_out
    residual = (centred - level) / left_out.sqrt()
    estimate = (kept * coefficients.square()).sum() - (weight * diagonal * noise).sum()
    own = float((weight * diagonal * residual.square()).square().sum())
    found = LeaveOut(estimate.unsqueeze(0), level.unsqueeze(0), residual.unsqueeze(0), kept.unsqueeze(0))
    return StreamedEvidence(found, coefficients, residual_scatter, centred_scatter, own)


def _feature_blocks(sensitive: Array, features: FeatureMap) -> Iterator[tuple[slice, Tensor]]:
    for start in range(0, len(sensitive), BLOCK):
        part = slice(start, min(start + BLOCK, len(sensitive)))
        yield part, torch.from_numpy(np.hstack(features(sensitive[part])))


def orthonormal(covariance: Tensor, free: int) -> tuple[Tensor, Tensor]:
    """T (feature, basis) and the penalised moments, from the covariance of (free, penalised) features."""
    values, vectors = torch.linalg.eigh(covariance[:free, :free])
    kept = values > RANK_TOLERANCE * values.max() if free else values > 0
    whiten_free = vectors[:, kept] / values[kept].sqrt()
    overlap = whiten_free.T @ covariance[:free, free:]
    moments, vectors = torch.linalg.eigh(covariance[free:, free:] - overlap.T @ overlap)
    largest = torch.cat([moments.new_zeros(1), moments]).max()
    kept = moments > RANK_TOLERANCE * largest
    moments, vectors = moments[kept].flip(0), vectors[:, kept].flip(1)
    whiten = vectors / moments.sqrt()
    upper = torch.cat([whiten_free, -whiten_free @ overlap @ whiten], dim=1)
    lower = torch.cat([whiten.new_zeros(len(whiten), whiten_free.shape[1]), whiten], dim=1)
    return torch.cat([upper, lower]), moments

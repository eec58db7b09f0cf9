r"""A linear smoother of very many rows, block by block: the basis of all rows is never in memory.

The basis of :mod:`fairlevel.conditional_mean.smoother` is an affine map of the features, B(a) = (1, (z(a) − m) T), and
T follows from the mean m and the second moments of z = (functions of L, free, penalised), which one pass collects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.factorisation import RANK_TOLERANCE
from fairlevel.conditional_mean.protocol import JointMap, LinearMean, standardiser
from fairlevel.conditional_mean.spectrum import Spectrum

BLOCK = 50_000  # rows at a time


@dataclass(frozen=True)
class BlockwiseSmoother:
    """The smoother as an affine map of features that makes them orthonormal.

    Shapes: rows, mean (feature,), transform (feature, basis), moments (penalised basis,).
    ``nuisance`` counts the leading basis functions that are no disparity, the constant included.
    """

    rows: Attributes
    features: JointMap
    mean: Tensor
    transform: Tensor
    moments: Tensor
    nuisance: int = 1

    @cached_property
    def row_weight(self) -> Tensor:
        """Row weights that sum to 1, (row,)."""
        return torch.from_numpy(self.rows.weight)

    @cached_property
    def spectrum(self) -> Spectrum:
        """The effect of a ridge, which does not depend on single rows."""
        rows = float(1 / self.row_weight.square().sum())
        return Spectrum(1 + self.transform.shape[1] - len(self.moments), self.moments, rows, self.nuisance)

    def blocks(self) -> Iterator[tuple[slice, Tensor]]:
        """(rows, basis values (row, basis)) for all rows; the first basis function is the constant."""
        for part, values in _feature_blocks(self.rows, self.features):
            yield part, torch.cat([values.new_ones(len(values), 1), (values - self.mean) @ self.transform], dim=1)


def blockwise(mean: LinearMean, sample: Attributes, rows: Attributes, seed: int) -> BlockwiseSmoother:
    """Features are fitted on the rows ``sample``, which count alike, their moments on all ``rows``."""
    features = mean.joint_map(replace(sample, row_weight=None), seed)
    if rows.given is not None:
        rows = replace(rows, given=standardiser(rows.given, rows.weight)(rows.given))
    weight = torch.from_numpy(rows.weight)
    first, second = None, None
    for part, values in _feature_blocks(rows, features):
        weighted = values * weight[part].unsqueeze(1)
        first = weighted.sum(dim=0) if first is None else first + weighted.sum(dim=0)
        second = weighted.T @ values if second is None else second + weighted.T @ values
    if first is None or second is None:
        raise ValueError("There are no rows.")
    free = features(rows.take(np.arange(1)))[0].shape[1]
    functions = 0 if rows.given is None else rows.given.shape[1]
    transform, moments, nuisance = orthonormal(second - torch.outer(first, first), free, functions)
    return BlockwiseSmoother(rows, features, first, transform, moments, 1 + nuisance)


def _feature_blocks(rows: Attributes, features: JointMap) -> Iterator[tuple[slice, Tensor]]:
    for start in range(0, len(rows), BLOCK):
        part = slice(start, min(start + BLOCK, len(rows)))
        some = rows.take(np.arange(part.start, part.stop))
        given = [] if some.given is None else [some.given]
        yield part, torch.from_numpy(np.hstack([*given, *features(some)]))


def orthonormal(covariance: Tensor, free: int, given: int = 0) -> tuple[Tensor, Tensor, int]:
    """T (feature, basis), the penalised moments (penalised basis,) and how many basis functions are functions of L,
    from the covariance of (functions of L, free, penalised) features.
    """
    whiten_given, _ = _whitened(covariance[:given, :given])
    overlap = whiten_given.T @ covariance[:given, given:]
    rest, spread = covariance[given:, given:], 0.0
    if given:
        spread = float(rest.diagonal().max()) if len(rest) else 0.0
        rest = rest - overlap.T @ overlap
    transform, moments = _of_attributes(rest, free, spread)
    left = torch.cat([whiten_given, covariance.new_zeros(len(transform), whiten_given.shape[1])])
    right = torch.cat([-whiten_given @ overlap @ transform, transform])
    return torch.cat([left, right], dim=1), moments, whiten_given.shape[1]


def _of_attributes(covariance: Tensor, free: int, spread: float) -> tuple[Tensor, Tensor]:
    """T (feature, basis) and the penalised moments, from the covariance of (free, penalised) features; directions that
    are small beside ``spread`` are rounding errors.
    """
    whiten_free, _ = _whitened(covariance[:free, :free], spread)
    overlap = whiten_free.T @ covariance[:free, free:]
    whiten, moments = (each.flip(-1) for each in _whitened(covariance[free:, free:] - overlap.T @ overlap, spread))
    upper = torch.cat([whiten_free, -whiten_free @ overlap @ whiten], dim=1)
    lower = torch.cat([whiten.new_zeros(len(whiten), whiten_free.shape[1]), whiten], dim=1)
    return torch.cat([upper, lower]), moments


def _whitened(covariance: Tensor, spread: float = 0.0) -> tuple[Tensor, Tensor]:
    """W with Wᵀ C W = 1, (feature, rank), and the second moments of its directions, ascending (rank,)."""
    moments, vectors = torch.linalg.eigh(covariance)
    largest = max(float(torch.cat([moments.new_zeros(1), moments]).max()), spread)
    kept = moments > RANK_TOLERANCE * largest
    return vectors[:, kept] / moments[kept].sqrt(), moments[kept]

r"""A linear smoother of very many rows, block by block: the basis of all rows is never in memory.

The basis of :mod:`fairlevel.conditional_mean.smoother` is an affine map of the features, B(a) = (1, (z(a) − m) T), and
T follows from the mean m and the second moments of z = (functions of L, free, penalised). Moments are sums over rows:
those of parts of the rows, wherever they lie, add up to those of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import torch
from torch import Tensor

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.factorisation import RANK_TOLERANCE
from fairlevel.conditional_mean.protocol import JointMap, LinearMean, Standardiser, may_round, standardiser
from fairlevel.conditional_mean.spectrum import Spectrum
from fairlevel.threads import on_single_threads

BLOCK = 4_096  # rows at a time: their basis takes 7 MiB for 211 functions


@dataclass(frozen=True)
class Functions:
    """Features z of A with the functions of L before them, fitted on a sample, less their means on it.

    ``free`` and ``given`` count the unpenalised functions of A and those of L; shift (feature,).
    """

    features: JointMap
    shift: Tensor
    free: int
    given: int = 0
    standardise: Standardiser | None = None

    @classmethod
    def of(cls, mean: LinearMean, sample: Attributes, seed: int) -> Functions:
        """Fitted on the rows ``sample`` with their weights."""
        return cls.unshifted(mean, sample, seed).less_means(sample)

    @classmethod
    def unshifted(cls, mean: LinearMean, sample: Attributes, seed: int) -> Functions:
        """The same without means."""
        features = mean.joint_many_rows_map(sample, seed)
        standardise = None if sample.given is None else standardiser(sample.given, sample.weight)
        free = features(sample.take(np.arange(1)))[0].shape[1]
        given = 0 if standardise is None else len(standardise.centre)
        return cls(features, torch.zeros(1, dtype=torch.float64), free, given, standardise)

    def less_means(self, sample: Attributes) -> Functions:
        """Of unshifted functions: less their means on these rows."""
        sums = [self(sample.take(np.arange(part.start, part.stop))).sum(dim=0) for part in parts(len(sample))]
        return replace(self, shift=torch.stack(sums).sum(dim=0) / len(sample))

    def __call__(self, rows: Attributes) -> Tensor:
        """z less its mean on the sample, (row, feature)."""
        given = [] if self.standardise is None or rows.given is None else [self.standardise(rows.given)]
        return torch.from_numpy(np.hstack([*given, *self.features(rows)])).sub_(self.shift)


def parts(rows: int) -> Iterator[slice]:
    """The rows in blocks."""
    for start in range(0, rows, BLOCK):
        yield slice(start, min(start + BLOCK, rows))


@dataclass(frozen=True)
class BlockwiseSmoother:
    """The smoother as an affine map of features that makes them orthonormal.

    Shapes: mean (feature,), transform (feature, basis), moments (penalised basis,). ``nuisance`` counts the leading
    basis functions that are no disparity, the constant included; ``rows`` is 1 / Σ w².
    """

    functions: Functions
    mean: Tensor
    transform: Tensor
    moments: Tensor
    rows: float
    nuisance: int = 1

    @classmethod
    def of(cls, functions: Functions, first: Tensor, second: Tensor, rows: float) -> BlockwiseSmoother:
        """From the weighted means of z (feature,) and of z zᵀ (feature, feature)."""
        covariance = second - torch.outer(first, first)
        # LAPACK's eigenvectors may depend on the number of threads in their last bits
        of_features = partial(orthonormal, covariance, functions.free, functions.given)
        ((transform, moments, nuisance),) = on_single_threads(of_features)
        return cls(functions, first, transform, moments, rows, 1 + nuisance)

    @cached_property
    def spectrum(self) -> Spectrum:
        """The effect of a ridge, which does not depend on single rows."""
        return Spectrum(1 + self.transform.shape[1] - len(self.moments), self.moments, self.rows, self.nuisance)

    @property
    def precision(self) -> torch.dtype:
        """What is enough for the basis where only sums of its squares are asked for."""
        return torch.float32 if may_round(self.rows, 1 + self.transform.shape[1]) else torch.float64

    def basis(self, features: Tensor) -> Tensor:
        """Basis values from features, in their precision: (row, feature) -> (row, basis); the first basis function is
        the constant.
        """
        values = features.new_empty(len(features), 1 + self.transform.shape[1])
        values[:, 0] = 1
        offset, transform = (each.to(features.dtype) for each in (-self.mean @ self.transform, self.transform))
        torch.addmm(offset, features, transform, out=values[:, 1:])
        return values

    def combined(self, features: Tensor, coefficients: Tensor) -> Tensor:
        """Linear combinations B c of the basis, which is not made: (row, feature), (basis, function) -> (row,
        function).
        """
        towards = self.transform @ coefficients[1:]
        return torch.addmm(coefficients[0] - self.mean @ towards, features, towards)

    def coefficients(self, products: Tensor) -> Tensor:
        """BᵀWf of predictions with mean 0 from their weighted products with z: (config, feature) -> (config, basis)."""
        return torch.cat([products.new_zeros(len(products), 1), products @ self.transform], dim=1)


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

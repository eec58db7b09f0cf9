r"""A linear smoother h = S f, factored once for every prediction that will ever be smoothed.

With row weights W = diag(w), Σw = 1, features are split into a free part (intercept first) and a penalised part. The
free part is orthonormalised, the penalised part is freed of it and diagonalised, which leaves a basis B with BᵀWB = I
and

.. math:: S_\lambda = B_{at} \operatorname{diag}(d) B_{fit}^\top W, \qquad
          d_j = 1 \text{ (free)}, \quad d_j = s_j / (s_j + \lambda) \text{ (penalised)} .

Any ridge λ is then a diagonal, and all configurations are smoothed by two thin matrix products.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import pad

from fairlevel.conditional_mean.spectrum import Spectrum
from fairlevel.tensors import to_device

RANK_TOLERANCE = 1e-10  # directions with less than this share of the largest second moment are noise of the arithmetic


@dataclass(frozen=True)
class LinearSmoother:
    """The factored smoother.

    Shapes: fit_basis (fit row, basis), at_basis (at row, basis), moments (penalised basis,), row_weight (fit row,);
    predictions (config, fit row), smoothed (config, at row). The first basis vector is the constant 1.
    """

    fit_basis: Tensor
    at_basis: Tensor
    moments: Tensor
    row_weight: Tensor
    nuisance: int = 1

    @property
    def free(self) -> int:
        """Number of unpenalised directions, the intercept among them."""
        return self.fit_basis.shape[1] - len(self.moments)

    @cached_property
    def effective_rows(self) -> float:
        """Kish's effective number of rows, 1 / Σ w² (the number of rows when weights are equal)."""
        return float(1 / self.row_weight.double().square().sum())

    @cached_property
    def weighted_basis(self) -> Tensor:
        """W B, (fit row, basis)."""
        return self.fit_basis * self.row_weight.unsqueeze(1)

    @cached_property
    def aligned_basis(self) -> Tensor:
        """W B with columns of zeros up to a multiple of 32, (fit row, padded basis): rows that start where fast
        products want them.
        """
        return pad(self.weighted_basis, (0, -self.fit_basis.shape[1] % 32))

    @cached_property
    def aligned_functions(self) -> Tensor:
        """The same, a function a line, (padded basis, fit row): products with a turned matrix take four times as
        long.
        """
        return self.aligned_basis.T.contiguous()

    def to(self, dtype: torch.dtype, device: torch.device | str = "cpu") -> LinearSmoother:
        return to_device(self, dtype, device)

    def trimmed(self, ridge: float, least: float) -> LinearSmoother:
        """Without the functions of which this ridge leaves less than ``least`` times what it leaves of the first
        penalised one: a smoother like any other, whose h differs by at most ``least`` times the spread of f.
        """
        penalised = self.shrinkage(ridge)[self.free :]
        kept = self.free + int((penalised >= least * penalised[:1]).sum())  # moments fall
        fit_basis = self.fit_basis[:, :kept].contiguous()
        at_basis = fit_basis if self.at_basis is self.fit_basis else self.at_basis[:, :kept].contiguous()
        return LinearSmoother(fit_basis, at_basis, self.moments[: kept - self.free], self.row_weight)

    @cached_property
    def spectrum(self) -> Spectrum:
        """What a ridge does, whatever the rows."""
        return Spectrum(self.free, self.moments, self.effective_rows)

    def shrinkage(self, ridge: Tensor | float) -> Tensor:
        """d_j for each ridge: (config,) -> (config, basis); a number -> (basis,)."""
        return self.spectrum.shrinkage(ridge)

    def coefficients(self, prediction: Tensor) -> Tensor:
        """Bᵀ W f: (config, fit row) -> (config, basis); column 0 is the weighted mean."""
        return prediction @ self.weighted_basis

    def apply(self, prediction: Tensor, ridge: Tensor | float) -> Tensor:
        """h = S f: (config, fit row) -> (config, at row)."""
        return (self.coefficients(prediction) * self.shrinkage(ridge)) @ self.at_basis.T

    def adjoint(self, gradient: Tensor, ridge: Tensor | float) -> Tensor:
        """Sᵀ g: (config, at row) -> (config, fit row)."""
        return ((gradient @ self.at_basis) * self.shrinkage(ridge)) @ self.fit_basis.T * self.row_weight

    def leverage(self, diagonal: Tensor) -> Tensor:
        """Diagonal of B diag(·) BᵀW on the fit rows: (basis,) -> (fit row,)."""
        return self.row_weight * (self.fit_basis.square() @ diagonal)

    def choose_ridge(self, prediction: Tensor) -> Tensor:
        """The ridge with the smallest generalised cross-validation error, (config,); the largest of several."""
        square = (prediction.square() * self.row_weight).sum(dim=-1)
        return self.spectrum.choose_ridge(self.coefficients(prediction), square)

    def leave_one_out(self, prediction: Tensor, ridges: Tensor, cost: float) -> Tensor:
        r"""Leave-one-out error of each ridge, (config, ridge): like :meth:`Spectrum.gcv`, but every row pays for its
        own leverage.

        .. math:: \sum_i w_i \Big( \frac{f_i - (S_\lambda f)_i}{(1 - S_{ii})^\kappa} \Big)^2

        Where noise is largest at the edge of A, average leverage undercharges those rows and noise passes for
        structure.
        """
        coefficients = self.coefficients(prediction)
        shrinkage = self.shrinkage(ridges)
        own_weight = (shrinkage @ self.fit_basis.square().T) * self.row_weight
        left = (1 - own_weight).clamp_min(0.02) ** cost
        errors = [
            (((prediction - (coefficients * shrink) @ self.fit_basis.T) / remaining).square() * self.row_weight).sum(-1)
            for shrink, remaining in zip(shrinkage, left, strict=True)
        ]
        return torch.where(self.spectrum.sensible(ridges, cost), torch.stack(errors, dim=-1), torch.inf)


def factor(
    free: Tensor, penalised: Tensor, row_weight: Tensor, at: tuple[Tensor, Tensor] | None = None
) -> LinearSmoother:
    """Diagonalise a smoother in float64; the intercept is added to the free part.

    Shapes: free (row, k0), penalised (row, k1), row_weight (row,) summing to 1; ``at`` both features of other rows to
    evaluate at, (at row, k0) and (at row, k1). Collinear columns cost nothing: directions that the rows do not span are
    dropped.
    """
    root = row_weight.sqrt().unsqueeze(1)
    free_mean, penalised_mean = row_weight @ free, row_weight @ penalised

    _, singular, directions = torch.linalg.svd(root * (free - free_mean), full_matrices=False)
    kept = singular > RANK_TOLERANCE**0.5 * singular.max() if singular.numel() else singular > 0
    whiten_free = directions[kept].T / singular[kept]
    white = (free - free_mean) @ whiten_free

    rest = penalised - penalised_mean
    overlap = white.T @ (row_weight.unsqueeze(1) * rest)
    rest -= white @ overlap
    moments, whiten = _principal(root * rest)

    basis = _with_intercept(white, rest @ whiten)
    if at is None:
        return LinearSmoother(basis, basis, moments, row_weight)
    white = (at[0] - free_mean) @ whiten_free
    rest = at[1] - penalised_mean - white @ overlap
    return LinearSmoother(basis, _with_intercept(white, rest @ whiten), moments, row_weight)


def _with_intercept(*columns: Tensor) -> Tensor:
    return torch.cat([columns[0].new_ones(len(columns[0]), 1), *columns], dim=1)


def _principal(scaled: Tensor) -> tuple[Tensor, Tensor]:
    r"""Eigenvalues of XᵀX, descending, and W with Wᵀ XᵀX W = 1; directions that the rows do not span are dropped.

    Shapes: scaled X (row, feature) -> (rank,), (feature, rank). The smaller of XᵀX and XXᵀ is decomposed.
    """
    rows, features = scaled.shape
    by_rows = rows < features
    moments, vectors = torch.linalg.eigh(scaled @ scaled.T if by_rows else scaled.T @ scaled)
    largest = torch.cat([moments.new_zeros(1), moments]).max()
    kept = moments > RANK_TOLERANCE * largest
    moments, vectors = moments[kept].flip(0), vectors[:, kept].flip(1)
    return moments, (scaled.T @ vectors) / moments if by_rows else vectors / moments.sqrt()

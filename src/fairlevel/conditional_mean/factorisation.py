r"""From features of A to an orthonormal basis: how :class:`LinearSmoother` is made."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

import torch
from torch import Tensor

from fairlevel.conditional_mean.cell_functions import Membership, OwnFunctions, RotatedCells
from fairlevel.conditional_mean.scatter import scatter
from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.conditional_mean.thin_svd import thin_svd

RANK_TOLERANCE = 1e-10  # directions with less than this share of the largest second moment are rounding errors


@dataclass(frozen=True)
class Features:
    """Features of some rows, each (row, feature): functions of legitimate factors L, free and penalised functions of
    A. The indicators of ``cells`` are penalised, too.
    """

    given: Tensor
    free: Tensor
    penalised: Tensor
    cells: Membership

    def with_cells(self, cells: RotatedCells) -> Tensor:
        """Penalised functions, those of cells first that overlap with others: (row, feature)."""
        return torch.cat([self.cells.values(cells.shared), self.penalised], dim=1)


@dataclass(frozen=True)
class Whitening:
    """The map (values − centre) T that makes columns orthonormal under the row weights; centre (feature,), T (feature,
    rank).
    """

    centre: Tensor
    transform: Tensor

    @classmethod
    def of(cls, values: Tensor, row_weight: Tensor) -> Whitening:
        centre = row_weight @ values
        spread = (row_weight @ (values - centre).square()).sqrt()
        varies = spread > 8 * torch.finfo(values.dtype).eps * values.abs().amax(dim=0)
        scale = torch.where(varies, 1 / spread, 0)
        scaled = row_weight.sqrt().unsqueeze(1) * (values - centre) * scale
        _, singular, directions = thin_svd(scaled)
        kept = singular > RANK_TOLERANCE**0.5 * singular.max() if singular.numel() else singular > 0
        return cls(centre, scale.unsqueeze(1) * directions[kept].T / singular[kept])

    def __call__(self, values: Tensor) -> Tensor:
        return (values - self.centre) @ self.transform


@dataclass(frozen=True)
class Residual:
    """Features less their projection on the nuisance functions: less their mean, and less G C for whitened functions G
    of L. Shapes: mean (feature,), overlap C (function, feature).

    ``spread`` is the largest second moment before functions of L were projected out, 0 where there are none: what is
    left of a feature that L explains completely is a rounding error.
    """

    mean: Tensor
    overlap: Tensor
    spread: float

    @classmethod
    def of(cls, values: Tensor, given: Tensor, row_weight: Tensor) -> Residual:
        mean = row_weight @ values
        if not given.shape[1] or not values.shape[1]:
            return cls(mean, values.new_zeros(given.shape[1], values.shape[1]), 0.0)
        centred = values - mean
        overlap = given.T @ (row_weight.unsqueeze(1) * centred)
        return cls(mean, overlap, float((row_weight @ centred.square()).max()))

    def __call__(self, values: Tensor, given: Tensor) -> Tensor:
        centred = values - self.mean
        return centred - given @ self.overlap if len(self.overlap) else centred


def factor(fit: Features, row_weight: Tensor, at: Features | None = None) -> LinearSmoother:
    """Diagonalise a smoother in float64; the constant is added as the first nuisance function.

    Shapes: row_weight (row,) summing to 1; ``at`` the features of other rows to evaluate at. Functions that are linear
    combinations of others are dropped.
    """
    nuisance = Whitening.of(fit.given, row_weight)
    given = nuisance(fit.given)
    free_residual = Residual.of(fit.free, given, row_weight)
    root = row_weight.sqrt().unsqueeze(1)

    free = free_residual(fit.free, given)
    _, singular, directions = thin_svd(root * free)
    largest = max(float(singular.max()), free_residual.spread**0.5) if singular.numel() else 0.0
    kept = singular > RANK_TOLERANCE**0.5 * largest
    whiten_free = directions[kept].T / singular[kept]
    white = free @ whiten_free

    cells, rotated = fit.cells, RotatedCells.of(fit.cells, (given, white, fit.penalised), row_weight)
    penalised = fit.with_cells(rotated)
    del fit  # the largest part of it lives on in ``rest``
    penalised_residual = Residual.of(penalised, given, row_weight)
    rest = penalised_residual(penalised, given)
    del penalised
    overlap = (row_weight.unsqueeze(1) * white).T @ rest
    rest.addmm_(white, overlap, alpha=-1)
    moments, whiten = _principal(rest, row_weight, max(penalised_residual.spread, rotated.heaviest))
    merged = Merged.of(moments, rotated.own)

    basis = merged.basis(torch.cat([given, white], dim=1), rest, whiten, cells)
    if at is None:
        return LinearSmoother(basis, basis, merged.moments, row_weight, 1 + given.shape[1])
    given = nuisance(at.given)
    white = free_residual(at.free, given) @ whiten_free
    rest = penalised_residual(at.with_cells(rotated), given) - white @ overlap
    there = merged.basis(torch.cat([given, white], dim=1), rest, whiten, at.cells)
    return LinearSmoother(basis, there, merged.moments, row_weight, 1 + given.shape[1])


@dataclass(frozen=True)
class Merged:
    """Penalised functions in the order of their moments: principal ones, and those that cells have of their own, each
    set of these after as many principal functions as ``places`` says.
    """

    moments: Tensor
    own: tuple[OwnFunctions, ...]
    places: tuple[int, ...]

    @classmethod
    def of(cls, principal: Tensor, own: tuple[OwnFunctions, ...]) -> Merged:
        """Moments of the principal functions, and of the others, both descending."""
        places = tuple(int((principal >= each.moment).sum()) for each in own)
        sets = [principal.new_full((each.table.shape[1],), each.moment) for each in own]
        return cls(torch.cat([principal, *sets]).sort(descending=True, stable=True).values, own, places)

    def basis(self, free: Tensor, rest: Tensor, whiten: Tensor, cells: Membership) -> Tensor:
        """The constant, free functions, and rest · W with the functions of cells among its columns, written in place:
        (row, function), (row, feature), (feature, principal) -> (row, basis).
        """
        column = 1 + free.shape[1]
        basis = rest.new_empty(len(rest), column + len(self.moments))
        basis[:, 0] = 1
        basis[:, 1:column] = free
        parts = torch.tensor_split(whiten, self.places, dim=1)
        for part, own in zip_longest(parts, self.own):
            torch.mm(rest, part, out=basis[:, column : column + part.shape[1]])
            column += part.shape[1]
            if own is not None:
                basis[:, column : column + own.table.shape[1]] = own(cells)
                column += own.table.shape[1]
        return basis


def _principal(rest: Tensor, row_weight: Tensor, spread: float) -> tuple[Tensor, Tensor]:
    r"""Eigenvalues of XᵀX, descending, and W with Wᵀ XᵀX W = 1, for the rows X = √w · rest; directions that the rows do
    not span are dropped, and those that are small beside the ``spread`` that X had before other functions were
    projected out.

    Shapes: rest (row, feature), row_weight (row,) -> (rank,), (feature, rank). The smaller of XᵀX and XXᵀ is
    decomposed; of many rows X itself is never made.
    """
    rows, features = rest.shape
    by_rows = rows < features
    scaled = row_weight.sqrt().unsqueeze(1) * rest if by_rows else rest
    moments, vectors = torch.linalg.eigh(scaled @ scaled.T if by_rows else scatter(row_weight.sqrt(), rest))
    largest = max(float(torch.cat([moments.new_zeros(1), moments]).max()), spread)
    kept = moments > RANK_TOLERANCE * largest
    moments, vectors = moments[kept].flip(0), vectors[:, kept].flip(1)
    return moments, (scaled.T @ vectors) / moments if by_rows else vectors / moments.sqrt()

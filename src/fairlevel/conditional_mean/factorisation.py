r"""From features of A to an orthonormal basis: how :class:`LinearSmoother` is made."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

import torch
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.conditional_mean.cell_functions import OwnFunctions, RotatedCells
from fairlevel.conditional_mean.free_cells import FreeCells
from fairlevel.conditional_mean.membership import CellsApart, Membership
from fairlevel.conditional_mean.scatter import scatter
from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.conditional_mean.squares import CellSet
from fairlevel.conditional_mean.thin_svd import thin_svd

RANK_TOLERANCE = 1e-10  # directions with less than this share of the largest second moment are rounding errors


@dataclass(frozen=True)
class Features:
    """Features of some rows, each (row, feature): functions of legitimate factors L, free and penalised functions of
    A. The indicators of ``free_cells`` are free, too, and those of ``penalised_cells`` penalised.
    """

    given: Tensor
    free: Tensor
    penalised: Tensor
    free_cells: Membership
    penalised_cells: Membership

    @classmethod
    def of(cls, given: Array, features: CellsApart) -> Features:
        """Of L, (row, feature), and of A."""
        free, penalised = torch.from_numpy(features.free), torch.from_numpy(features.penalised)
        return cls(torch.from_numpy(given), free, penalised, features.free_cells, features.penalised_cells)

    def with_free(self, cells: FreeCells, nuisance: Tensor) -> Tensor:
        """Free functions, those of cells first that overlap with others: (row, feature)."""
        return torch.cat([cells.values(cells.shared, self.free_cells, nuisance), self.free], dim=1)

    def with_penalised(self, cells: RotatedCells) -> Tensor:
        """Penalised functions, those of cells first that overlap with others: (row, feature)."""
        return torch.cat([self.penalised_cells.values(cells.shared), self.penalised], dim=1)


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
    whitening = Whitening.of(fit.given, row_weight)
    given = whitening(fit.given)
    nuisance = with_constant(given)
    free_cells = FreeCells.of(fit.free_cells, nuisance, fit.free, row_weight)
    free = fit.with_free(free_cells, nuisance)
    free_residual = Residual.of(free, given, row_weight)
    free = free_residual(free, given)
    _, singular, directions = thin_svd(row_weight.sqrt().unsqueeze(1) * free)
    spread = max(free_residual.spread, free_cells.moment)
    largest = max(float(singular.max()), spread**0.5) if singular.numel() else 0.0
    kept = singular > RANK_TOLERANCE**0.5 * largest
    whiten_free = directions[kept].T / singular[kept]
    white = free @ whiten_free
    own = free_cells.values(free_cells.own, fit.free_cells, nuisance)

    cells = fit.penalised_cells
    rotated = RotatedCells.of(cells, (given, own, white, fit.penalised), row_weight)
    penalised, of_free_cells = fit.with_penalised(rotated), fit.free_cells
    del fit  # the largest part of it lives on in ``rest``
    penalised_residual = Residual.of(penalised, given, row_weight)
    rest = penalised_residual(penalised, given)
    del penalised
    overlap = (row_weight.unsqueeze(1) * white).T @ rest
    along_own = free_cells.along_own(rest, of_free_cells, row_weight)
    rest.addmm_(white, overlap, alpha=-1)
    rest.sub_(free_cells.values(along_own, of_free_cells, nuisance))
    moments, whiten = _principal(rest, row_weight, max(penalised_residual.spread, rotated.heaviest))
    merged = Merged.of(moments, rotated.own)

    basis = merged.basis((nuisance, own, white), rest, whiten, cells)
    free_count = basis.shape[1] - len(merged.moments)
    sets = free_cells.sets(nuisance.shape[1], of_free_cells) + merged.sets(free_count, cells)
    if at is None:
        return LinearSmoother(basis, basis, merged.moments, row_weight, nuisance.shape[1], sets)
    given = whitening(at.given)
    nuisance = with_constant(given)
    white = free_residual(at.with_free(free_cells, nuisance), given) @ whiten_free
    own = free_cells.values(free_cells.own, at.free_cells, nuisance)
    rest = penalised_residual(at.with_penalised(rotated), given) - white @ overlap
    rest.sub_(free_cells.values(along_own, at.free_cells, nuisance))
    there = merged.basis((nuisance, own, white), rest, whiten, at.penalised_cells)
    return LinearSmoother(basis, there, merged.moments, row_weight, nuisance.shape[1], sets)


def with_constant(functions: Tensor) -> Tensor:
    """The constant 1 before other functions: (row, function) -> (row, 1 + function)."""
    return torch.cat([functions.new_ones(len(functions), 1), functions], dim=1)


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

    def sets(self, free: int, cells: Membership) -> tuple[CellSet, ...]:
        """The functions that cells have of their own as columns of the basis, after so many free ones."""
        found, before = [], free
        for own, place in zip(self.own, self.places, strict=True):
            found.append(own.as_set(before + place, cells))
            before += own.table.shape[1]
        return tuple(found)

    def basis(self, free: tuple[Tensor, ...], rest: Tensor, whiten: Tensor, cells: Membership) -> Tensor:
        """Functions that are not penalised, and rest · W with the functions of cells among its columns, written in
        place: parts (row, function), (row, feature), (feature, principal) -> (row, basis).
        """
        column = sum(part.shape[1] for part in free)
        basis = rest.new_empty(len(rest), column + len(self.moments))
        torch.cat(free, dim=1, out=basis[:, :column])
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

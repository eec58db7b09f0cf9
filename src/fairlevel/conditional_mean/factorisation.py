r"""From features of A to an orthonormal basis: how :class:`LinearSmoother` is made."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.conditional_mean.basis import Basis
from fairlevel.conditional_mean.cells.free_cells import FreeCells
from fairlevel.conditional_mean.cells.membership import FeaturesAndCells, Membership
from fairlevel.conditional_mean.cells.own_functions import OwnFunctions
from fairlevel.conditional_mean.cells.penalised_cells import CellsOfOneWeight, PenalisedCells
from fairlevel.conditional_mean.linear_algebra import scatter_matrix, thin_svd
from fairlevel.conditional_mean.smoother import LinearSmoother

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
    def of(cls, given: Array, features: FeaturesAndCells) -> Features:
        """Of L, (row, feature), and of A."""
        free, penalised = torch.from_numpy(features.free), torch.from_numpy(features.penalised)
        return cls(torch.from_numpy(given), free, penalised, features.free_cells, features.penalised_cells)

    def with_free(self, shared: Tensor, cells: Membership) -> Tensor:
        """Free functions, the shared ones of cells first: (cell that counts, shared function) -> (row, feature)."""
        return torch.cat([cells.at_rows(shared), self.free], dim=1)

    def with_penalised(self, cells: PenalisedCells) -> Tensor:
        """Penalised functions, the shared ones of cells first: (row, feature)."""
        return torch.cat([self.penalised_cells.at_rows(cells.shared), self.penalised], dim=1)


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
    free, here = FreeFunctions.fitted(fit, given, row_weight)
    cells = fit.penalised_cells
    penalised_cells = PenalisedCells.of(cells, (given, here.white, fit.penalised), row_weight)
    values = fit.with_penalised(penalised_cells)
    del fit  # ``values`` holds a copy of its largest part
    penalised, rest = PenalisedFunctions.fitted(values, given, here, free.cells, penalised_cells, row_weight)
    del values
    basis = _basis(here, rest, penalised, free.cells, cells)
    moments, nuisance = penalised.moments, here.nuisance.shape[1]
    if at is None:
        return LinearSmoother(basis, basis, moments, row_weight, nuisance)
    given = whitening(at.given)
    there = free(at, given)
    rest = penalised(at.with_penalised(penalised_cells), given, there)
    return LinearSmoother(
        basis, _basis(there, rest, penalised, free.cells, at.penalised_cells), moments, row_weight, nuisance
    )


def with_constant(functions: Tensor) -> Tensor:
    """The constant 1 before other functions: (row, function) -> (row, 1 + function)."""
    return torch.cat([functions.new_ones(len(functions), 1), functions], dim=1)


@dataclass(frozen=True)
class FreeValues:
    """What is not penalised, at some rows: nuisance functions, whitened functions, each (row, function), and the cells
    that count.
    """

    nuisance: Tensor
    white: Tensor
    cells: Membership


@dataclass(frozen=True)
class FreeFunctions:
    """Free functions of A made orthonormal, and orthogonal to the nuisance functions; whiten (feature, function)."""

    cells: FreeCells
    residual: Residual
    whiten: Tensor

    @classmethod
    def fitted(cls, fit: Features, given: Tensor, row_weight: Tensor) -> tuple[FreeFunctions, FreeValues]:
        """On these rows with whitened functions of L, and their values there."""
        nuisance = with_constant(given)
        cells = FreeCells.of(fit.free_cells, nuisance, fit.free, row_weight)
        known = cells.membership(fit.free_cells, nuisance)
        free = fit.with_free(cells.shared, known)
        residual = Residual.of(free, given, row_weight)
        free = residual(free, given)
        _, singular, directions = thin_svd(row_weight.sqrt().unsqueeze(1) * free)
        spread = max(residual.spread, cells.moment)
        largest = max(float(singular.max()), spread**0.5) if singular.numel() else 0.0
        kept = singular > RANK_TOLERANCE**0.5 * largest
        whiten = directions[kept].T / singular[kept]
        return cls(cells, residual, whiten), FreeValues(nuisance, free @ whiten, known)

    def __call__(self, at: Features, given: Tensor) -> FreeValues:
        nuisance = with_constant(given)
        cells = self.cells.membership(at.free_cells, nuisance)
        free = self.residual(at.with_free(self.cells.shared, cells), given)
        return FreeValues(nuisance, free @ self.whiten, cells)


@dataclass(frozen=True)
class PenalisedFunctions:
    """Penalised functions less their projection on all others, and W, which makes them orthonormal: principal ones.
    Own functions of penalised cells stand among them, each set of these after as many principal functions as ``places``
    says.

    Shapes: overlap (white function, feature), on_own (free cell that counts, feature), whiten W (feature,
    principal), moments (penalised function,), falling.
    """

    residual: Residual
    overlap: Tensor
    on_own: Tensor
    whiten: Tensor
    moments: Tensor
    by_weight: tuple[CellsOfOneWeight, ...]
    places: tuple[int, ...]

    @classmethod
    def fitted(
        cls,
        values: Tensor,
        given: Tensor,
        here: FreeValues,
        free_cells: FreeCells,
        penalised_cells: PenalisedCells,
        row_weight: Tensor,
    ) -> tuple[PenalisedFunctions, Tensor]:
        """On these features (row, feature), with what is left of them there."""
        residual = Residual.of(values, given, row_weight)
        rest = residual(values, given)
        overlap = (row_weight.unsqueeze(1) * here.white).T @ rest
        on_own = free_cells.projection_on_own(rest, here.cells, row_weight)
        rest.addmm_(here.white, overlap, alpha=-1)
        rest.sub_(here.cells.at_rows(on_own))
        principal, whiten = _principal(rest, row_weight, max(residual.spread, penalised_cells.heaviest))
        places = tuple(int((principal >= each.weight).sum()) for each in penalised_cells.by_weight)
        sets = [principal.new_full((each.count,), each.weight) for each in penalised_cells.by_weight]
        moments = torch.cat([principal, *sets]).sort(descending=True, stable=True).values
        return cls(residual, overlap, on_own, whiten, moments, penalised_cells.by_weight, places), rest

    def __call__(self, values: Tensor, given: Tensor, there: FreeValues) -> Tensor:
        """What is left of features at other rows, (row, feature)."""
        rest = self.residual(values, given) - there.white @ self.overlap
        return rest.sub_(there.cells.at_rows(self.on_own))

    def sets(self, first: int, cells: Membership) -> tuple[OwnFunctions, ...]:
        """The own functions of penalised cells in a basis whose penalised functions start with this one."""
        sets, before = [], first
        for functions, place in zip(self.by_weight, self.places, strict=True):
            sets.append(functions.own_functions(before + place, cells))
            before += functions.count
        return tuple(sets)


def _basis(
    free: FreeValues, rest: Tensor, penalised: PenalisedFunctions, free_cells: FreeCells, cells: Membership
) -> Basis:
    """Nuisance functions, free ones, own functions of cells first, and penalised ones, at the rows of these values."""
    nuisance, white = free.nuisance.shape[1], free.white.shape[1]
    columns = rest.new_empty(len(rest), nuisance + white + penalised.whiten.shape[1])
    torch.cat([free.nuisance, free.white], dim=1, out=columns[:, : nuisance + white])
    torch.mm(rest, penalised.whiten, out=columns[:, nuisance + white :])
    of_free_cells = free_cells.own_functions(nuisance, free.cells)
    first = nuisance + sum(each.count for each in of_free_cells) + white
    return Basis(columns, of_free_cells + penalised.sets(first, cells))


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
    moments, vectors = torch.linalg.eigh(scaled @ scaled.T if by_rows else scatter_matrix(row_weight.sqrt(), rest))
    largest = max(float(torch.cat([moments.new_zeros(1), moments]).max()), spread)
    kept = moments > RANK_TOLERANCE * largest
    moments, vectors = moments[kept].flip(0), vectors[:, kept].flip(1)
    return moments, (scaled.T @ vectors) / moments if by_rows else vectors / moments.sqrt()

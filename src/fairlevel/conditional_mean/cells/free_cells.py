r"""Free indicators of cells, made orthonormal without a decomposition.

Scaled indicators E are orthonormal as they stand, and own functions are orthogonal to all other functions Y: here the
nuisance functions, which are the constant and functions of L, and other free functions. Only the shared functions, at
most as many as Y has columns, have to be made orthogonal to Y.

A row whose cell was never seen has no indicator. Its value comes from least squares with the smallest coefficients.
Where combinations of cells are nuisance functions, ZN = GC on all rows that were seen, least squares leaves open how
much is due to which; the smallest coefficients give the row the weights g C N⁺ of all cells, with g its nuisance
functions. Without L, all cells have the same weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fairlevel.conditional_mean.cells.membership import Membership, MembershipWithFallback
from fairlevel.conditional_mean.cells.own_functions import OwnFunctions
from fairlevel.conditional_mean.cells.penalised_cells import (
    LEAST_WEIGHT,
    independent,
    shared_functions,
    worth_splitting,
)
from fairlevel.conditional_mean.linear_algebra import thin_svd

_ROUNDING = 1e-10  # of a combination of cells; where nuisance functions leave less of it, it is one of them


@dataclass(frozen=True)
class FreeCells:
    """Shared and own functions of the cells that count, which are those of a weight above 0.

    Parameters
    ----------
    kept : the cells that count, by their numbers among all, (cell,)
    weight : p, (cell,)
    shared : orthonormal shared functions as functions of the cell, (cell, shared function); all functions of cells
        where these are too few to be split
    fallback : C N⁺, the weights of cells at rows of no cell, (nuisance function, cell)
    """

    kept: Tensor
    weight: Tensor
    shared: Tensor
    fallback: Tensor

    @classmethod
    def of(cls, cells: Membership, nuisance: Tensor, others: Tensor, row_weight: Tensor) -> FreeCells:
        """For orthonormal nuisance functions, the constant among them, and other free ones, each (row, function)."""
        weight = cells.sums(torch.ones_like(row_weight).unsqueeze(1), row_weight).squeeze(1)
        largest_variance = torch.cat([weight.new_zeros(1), weight * (1 - weight)]).max()  # of an indicator
        kept = torch.nonzero(weight > LEAST_WEIGHT * largest_variance).squeeze(1)
        weight, cells = weight[kept], cells.only(kept)
        with_nuisance = cells.sums(nuisance, row_weight)
        overlap = torch.cat([with_nuisance, cells.sums(others, row_weight)], dim=1)  # ZᵀWY
        overlap = overlap @ independent(overlap)
        if worth_splitting(len(kept), overlap.shape[1]):
            shared = shared_functions(overlap, weight)
        else:
            shared = torch.diag(1 / weight.sqrt())
        return cls(kept, weight, shared, _fallback(with_nuisance, weight))

    @property
    def moment(self) -> float:
        """The second moment of each shared function before others were projected out; 0 without cells."""
        return 1.0 if len(self.kept) else 0.0

    def membership(self, cells: Membership, nuisance: Tensor) -> MembershipWithFallback:
        """Some rows and the cells that count, with the nuisance functions at these rows, (row, nuisance function)."""
        own = cells.only(self.kept)
        return MembershipWithFallback(own.number, own.count, nuisance, self.fallback)

    def own_functions(self, first: int, cells: Membership) -> tuple[OwnFunctions, ...]:
        """Own functions from this place of a basis on, with the cells that count at its rows: one set, or none."""
        own = OwnFunctions(first, cells, self.weight, self.shared)
        return (own,) if own.count else ()

    def projection_on_own(self, values: Tensor, cells: Membership, row_weight: Tensor) -> Tensor:
        """The projection of functions on own functions, as functions of the cell: (row, function) -> (cell, function).

        It is the projection on E less that on the shared functions.
        """
        sums = cells.sums(values, row_weight)
        return sums / self.weight.unsqueeze(1) - self.shared @ (self.shared.T @ sums)


def _fallback(overlap: Tensor, weight: Tensor) -> Tensor:
    """C N⁺ from ZᵀWG (cell, nuisance function) and weights p (cell,): (nuisance function, cell).

    A combination of E and one of the nuisance functions G are the same function where the cosine of their angle, a
    singular value of EᵀWG, is 1.
    """
    root = weight.sqrt().unsqueeze(1)
    left, cosine, right = thin_svd(overlap / root)
    same = 1 - cosine.square() < _ROUNDING
    inverse: Tensor = torch.linalg.pinv(left[:, same] / root)
    return right[same].T @ inverse

r"""Free indicators of cells, made orthonormal without a decomposition.

Indicators Z of cells with weights p have ZᵀWZ = diag(p), so E = Z diag(p)^(−1/2) is orthonormal. Let Y be all functions
that are not penalised and are no cells, the constant and those of legitimate factors among them. Combinations Ex with
xᵀEᵀWY = 0 and orthonormal x are orthonormal and orthogonal to Y. Y has few columns: these are all combinations but as
many as Y has columns. Only the few others have to be made orthogonal to Y.

A row of a cell that was never seen has no indicator. Where combinations of cells are functions of L, or the constant,
Z N = G T on all rows that were seen, the coefficients of least squares that are smallest give this row the shares
g T N⁺ of all cells, with g its functions of L: without L, the same share of each.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fairlevel.conditional_mean.cells.cell_sets import CellSet
from fairlevel.conditional_mean.cells.membership import Membership, SharedMembership
from fairlevel.conditional_mean.cells.penalised_cells import (
    LEAST_WEIGHT,
    independent,
    overlapping_part,
    worth_splitting,
)
from fairlevel.conditional_mean.linear_algebra import thin_svd

_WITHIN = 1e-10  # of a combination of cells; what L leaves of it is a rounding error


@dataclass(frozen=True)
class FreeCells:
    """Orthonormal combinations of the indicators of the cells that count: those that overlap with other free functions.
    All other combinations are functions that cells have of their own.

    Shapes: kept and weight (cell that counts,), shared (cell that counts, function), shares T N⁺ (nuisance function,
    cell that counts); nuisance functions are the constant and those of L.
    """

    kept: Tensor
    weight: Tensor
    shared: Tensor
    shares: Tensor

    @classmethod
    def of(cls, cells: Membership, nuisance: Tensor, others: Tensor, row_weight: Tensor) -> FreeCells:
        """For orthonormal nuisance functions, the constant among them, and other free ones, each (row, function)."""
        weight = cells.sums(torch.ones_like(row_weight).unsqueeze(1), row_weight).squeeze(1)
        spread = torch.cat([weight.new_zeros(1), weight * (1 - weight)]).max()
        kept = torch.nonzero(weight > LEAST_WEIGHT * spread).squeeze(1)
        weight, own_cells = weight[kept], cells.among(kept)
        of_nuisance = own_cells.sums(nuisance, row_weight)
        overlap = torch.cat([of_nuisance, own_cells.sums(others, row_weight)], dim=1)
        overlap = overlap @ independent(overlap)
        if worth_splitting(len(kept), overlap.shape[1]):
            shared = overlapping_part(overlap, weight)
        else:
            shared = torch.diag(1 / weight.sqrt())
        return cls(kept, weight, shared, _shares(of_nuisance, weight))

    @property
    def moment(self) -> float:
        """The second moment of each function before others were projected out; 0 without cells."""
        return 1.0 if len(self.kept) else 0.0

    def among(self, cells: Membership, nuisance: Tensor) -> SharedMembership:
        """Rows and the cells that count, with the nuisance functions at these rows, (row, nuisance function)."""
        own = cells.among(self.kept)
        return SharedMembership(own.number, own.count, nuisance, self.shares)

    def sets(self, first: int, cells: Membership) -> tuple[CellSet, ...]:
        """Functions that cells have of their own as functions of a basis from this one on, with the cells that count at
        its rows; none where there are none.
        """
        cell_set = CellSet(first, cells, self.weight, self.shared)
        return (cell_set,) if cell_set.count else ()

    def along_own(self, values: Tensor, cells: Membership, row_weight: Tensor) -> Tensor:
        """The projection of functions on those that cells have of their own, as functions of the cell: (row, function)
        -> (cell that counts, function).
        """
        sums = cells.sums(values, row_weight)
        return sums / self.weight.unsqueeze(1) - self.shared @ (self.shared.T @ sums)


def _shares(overlap: Tensor, weight: Tensor) -> Tensor:
    """T N⁺ from Σ w_i g_i in each cell (cell, nuisance function) and weights (cell,): (nuisance function, cell)."""
    root = weight.sqrt().unsqueeze(1)
    left, cosine, right = thin_svd(overlap / root)
    within = 1 - cosine.square() < _WITHIN
    inverse: Tensor = torch.linalg.pinv(left[:, within] / root)
    return right[within].T @ inverse

r"""Penalised indicators of cells, rotated so that most of them need no decomposition.

Penalised features need an eigendecomposition of their second moments. Among cells of one weight p, an own function Zx,
with ‖x‖ = 1 and

.. math:: x^\top Z^\top W Y = 0 ,

has the second moment p, and is orthogonal to Y, to other own functions, and to all functions of other cells: it is an
eigenfunction already. Where many cells have the same weight, such as cells of a single row, only the shared functions
are left for a decomposition, at most as many as Y has columns. A rotation of features does not change their penalty.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fairlevel.conditional_mean.cells.membership import Membership
from fairlevel.conditional_mean.cells.own_functions import OwnFunctions
from fairlevel.conditional_mean.linear_algebra import thin_svd

LEAST_WEIGHT = 1e-10  # of the heaviest cell; the indicators of lighter cells are rounding errors
_SAME_WEIGHT = 1e-12  # relative difference up to which weights are the same
_DEPENDENT = 1e-14  # singular values below this share of the largest one are rounding errors
_FEWEST_CELLS = 64  # fewer are decomposed at no cost
_CELLS_PER_OTHER = 2  # with fewer cells per other function, a decomposition costs no more than the rotation


@dataclass(frozen=True)
class PenalisedCells:
    """The indicators of cells as features: columns that have to be decomposed, and own functions that have not.

    Parameters
    ----------
    shared : the columns as functions of the cell, (cell, shared function): shared functions of cells of one weight, and
        the indicators of cells for which no own functions were split off
    by_weight : the cells with own functions, the heaviest first
    heaviest : the largest weight of a cell, 0 without cells
    """

    shared: Tensor
    by_weight: tuple[CellsOfOneWeight, ...]
    heaviest: float

    @classmethod
    def of(cls, cells: Membership, functions: tuple[Tensor, ...], row_weight: Tensor) -> PenalisedCells:
        """Y is the constant and these functions, each part (row, function); row weights (row,)."""
        weight = cells.sums(torch.ones_like(row_weight).unsqueeze(1), row_weight)
        overlap = torch.cat([weight, *(cells.sums(part, row_weight) for part in functions)], dim=1)  # ZᵀWY
        weight = weight.squeeze(1)
        heaviest = float(weight.max()) if cells.count else 0.0
        single = weight > LEAST_WEIGHT * heaviest  # the cells whose indicators become columns
        by_weight = _by_weight(weight, torch.nonzero(single).squeeze(1))
        large = [own for own in by_weight if len(own) >= _FEWEST_CELLS]
        overlap = overlap @ independent(overlap[torch.cat([torch.arange(0), *large])])
        shared, split = [], []
        for own in large:
            if not worth_splitting(len(own), overlap.shape[1]):
                continue
            of_own, mean_weight = shared_functions(overlap[own], weight[own]), float(weight[own].mean())
            shared.append(_among_all(of_own * mean_weight**0.5, own, cells.count))
            split.append(CellsOfOneWeight(own, mean_weight, of_own))
            single[own] = False
        rest = torch.nonzero(single).squeeze(1)
        indicators = _among_all(torch.eye(len(rest), dtype=weight.dtype), rest, cells.count)
        return cls(torch.cat([indicators, *shared], dim=1), tuple(split), heaviest)


@dataclass(frozen=True)
class CellsOfOneWeight:
    """Cells of one weight that have own functions.

    Shapes: cells, their numbers among all cells, (own cell,); shared, the orthonormal shared functions as functions of
    the cell, (own cell, shared function).
    """

    cells: Tensor
    weight: float
    shared: Tensor

    @property
    def count(self) -> int:
        """The number of own functions; each has the second moment ``weight``."""
        return len(self.cells) - self.shared.shape[1]

    def own_functions(self, first: int, cells: Membership) -> OwnFunctions:
        """Own functions, scaled to a second moment of 1, from this place of a basis on; with all cells of the rows."""
        weight = torch.full((len(self.cells),), self.weight, dtype=self.shared.dtype)
        return OwnFunctions(first, cells.only(self.cells), weight, self.shared)


def worth_splitting(cells: int, others: int) -> bool:
    """Whether :func:`shared_functions` costs less than a decomposition of all indicators."""
    return cells >= max(_FEWEST_CELLS, _CELLS_PER_OTHER * others)


def shared_functions(overlap: Tensor, weight: Tensor) -> Tensor:
    """Shared functions as functions of the cell, diag(p)^(−1/2) U with U an orthonormal basis of EᵀWY.

    Shapes: overlap ZᵀWY (cell, other function), weight p (cell,) -> (cell, shared function).
    """
    root = weight.sqrt().unsqueeze(1)
    span: Tensor = torch.linalg.qr(overlap / root).Q
    return span / root


def independent(columns: Tensor) -> Tensor:
    """Combinations that span the columns of a matrix, fewer where some depend on others: (row, column) -> (column,
    combination).
    """
    _, singular, right = thin_svd(columns)
    return right[singular > _DEPENDENT * singular[:1]].T


def _by_weight(weight: Tensor, cells: Tensor) -> list[Tensor]:
    """These cells in parts of one weight, the heaviest first; each part (own cell,) in ascending order."""
    falling, order = weight[cells].sort(descending=True, stable=True)
    ends = torch.nonzero(falling[:-1] - falling[1:] > _SAME_WEIGHT * falling[:-1]).squeeze(1) + 1
    return list(torch.tensor_split(cells[order], ends.tolist()))


def _among_all(table: Tensor, cells: Tensor, count: int) -> Tensor:
    """Functions of some cells as functions of all, 0 elsewhere: (own cell, function) -> (cell, function)."""
    result = table.new_zeros(count, table.shape[1])
    result[cells] = table
    return result

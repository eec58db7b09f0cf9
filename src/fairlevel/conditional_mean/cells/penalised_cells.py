r"""Penalised indicators of cells, rotated so that most of them need no decomposition.

Indicators Z of cells have a diagonal second moment, ZᵀWZ = diag(p), with p the weight of each cell. Let Y be all other
functions. Among the cells of one weight p, a combination Zx with

.. math:: x^\top Z^\top W Y = 0, \qquad \lVert x \rVert = 1

is orthogonal to Y and has the second moment p; so are all such combinations to each other, and to those of cells of
other weights. Their second moments are diagonal. Y has few columns: where many cells have the same weight, such as
cells of a single row, these are all combinations but as many as Y has columns, and no eigendecomposition is needed to
find them. Only the few others are left for one. A rotation of features does not change their penalty.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fairlevel.conditional_mean.cells.cell_sets import CellSet
from fairlevel.conditional_mean.cells.membership import Membership
from fairlevel.conditional_mean.linear_algebra import thin_svd

_ROUNDING = 1e-12  # relative difference up to which weights are the same
LEAST_WEIGHT = 1e-10  # of the heaviest cell; the indicators of lighter cells are rounding errors
_DEPENDENT = 1e-14  # of the largest singular value
_FEWEST = 64  # cells of one weight; fewer are decomposed at no cost
_WORTH_IT = 2  # times as many cells as other functions: a decomposition of fewer cells costs no more than the rotation


@dataclass(frozen=True)
class OwnFunctions:
    """All functions of some cells of one weight that are orthogonal to every other function: all but those in
    ``lacking``, which are orthonormal. ``moment`` is the second moment that each has.

    Shapes: cells (own cell,), lacking (own cell, other function).
    """

    cells: Tensor
    lacking: Tensor
    moment: float

    @property
    def count(self) -> int:
        """The number of functions."""
        return len(self.cells) - self.lacking.shape[1]

    def as_set(self, first: int, cells: Membership) -> CellSet:
        """Scaled to a second moment of 1, as functions of a basis from this one on."""
        weight = torch.full((len(self.cells),), self.moment, dtype=self.lacking.dtype)
        return CellSet(first, cells.among(self.cells), weight, self.lacking)


@dataclass(frozen=True)
class RotatedCells:
    """All combinations of the indicators: those that overlap with other functions, (cell, shared function), and those
    that do not, the largest moment first. ``heaviest`` is the largest weight of a cell, 0 without cells.
    """

    shared: Tensor
    own: tuple[OwnFunctions, ...]
    heaviest: float

    @classmethod
    def of(cls, cells: Membership, functions: tuple[Tensor, ...], row_weight: Tensor) -> RotatedCells:
        """For the constant and other functions, together Y, each part (row, function); row weights (row,)."""
        weight = cells.sums(torch.ones_like(row_weight).unsqueeze(1), row_weight)
        overlap = torch.cat([weight, *(cells.sums(part, row_weight) for part in functions)], dim=1)
        weight = weight.squeeze(1)
        heaviest = float(weight.max()) if cells.count else 0.0
        left = weight > LEAST_WEIGHT * heaviest
        alike = [own for own in _of_one_weight(weight, torch.nonzero(left).squeeze(1)) if len(own) >= _FEWEST]
        overlap = overlap @ independent(overlap[torch.cat([torch.arange(0), *alike])])
        shared, own = [], []
        for group in alike:
            if not worth_splitting(len(group), overlap.shape[1]):
                continue
            overlapping, moment = overlapping_part(overlap[group], weight[group]), float(weight[group].mean())
            shared.append(_spread_out(overlapping * moment**0.5, group, cells.count))
            own.append(OwnFunctions(group, overlapping, moment))
            left[group] = False
        single = torch.nonzero(left).squeeze(1)
        indicators = _spread_out(torch.eye(len(single), dtype=weight.dtype), single, cells.count)
        return cls(torch.cat([indicators, *shared], dim=1), tuple(own), heaviest)


def worth_splitting(cells: int, others: int) -> bool:
    """Whether :func:`overlapping_part` costs less than a decomposition of all indicators."""
    return cells >= max(_FEWEST, _WORTH_IT * others)


def overlapping_part(overlap: Tensor, weight: Tensor) -> Tensor:
    """Combinations of the indicators of cells that are orthonormal functions and hold all that overlaps with others.
    Shapes: overlap Σ w_i y_i in each cell (cell, other function), weight (cell,) -> (cell, shared function).
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


def _of_one_weight(weight: Tensor, cells: Tensor) -> list[Tensor]:
    """These cells by their weight, the heaviest first; each part (cell,) in ascending order."""
    falling, order = weight[cells].sort(descending=True, stable=True)
    ends = torch.nonzero(falling[:-1] - falling[1:] > _ROUNDING * falling[:-1]).squeeze(1) + 1
    return list(torch.tensor_split(cells[order], ends.tolist()))


def _spread_out(table: Tensor, cells: Tensor, count: int) -> Tensor:
    """The rows of a table at their places among all cells, 0 elsewhere: (own cell, function) -> (cell, function)."""
    result = table.new_zeros(count, table.shape[1])
    result[cells] = table
    return result

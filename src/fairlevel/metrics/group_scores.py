r"""The covariance of coefficients where rows belong to groups, such as all visits of one person.

Groups are independent; rows of a group may depend on each other. With noise v_i of the rows and signed functions φ (see
:mod:`fairlevel.conditional_mean.cells.signed_functions`), each group has scores, and coefficients have the covariance

.. math:: K = \sum_g s_g s_g^\top, \qquad s_g = \sum_{i \in g} w_i v_i \varphi_i .

A group has rows in few cells: scores of cells, (group, cell), are sparse, and so are their products, (cell, cell).
Σ_g z_g s_g with standard normal z has the covariance K: draws need no decomposition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fairlevel.conditional_mean.cells.cell_products import CellProducts
from fairlevel.conditional_mean.cells.covariance import CoefficientCovariance
from fairlevel.conditional_mean.cells.signed_functions import SignedFunctions
from fairlevel.metrics.row_groups import RowGroups

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_DRAWS = 256  # at a time


@dataclass(frozen=True)
class GroupScores:
    """The scores s_g of all groups: on columns (group, column), and on scaled indicators of cells, sparse (group,
    cell). "Function" in shapes below stands for columns, then cells.
    """

    columns: Tensor
    cells: csr_array

    @classmethod
    def of(cls, functions: SignedFunctions, weighted: Tensor, groups: RowGroups) -> GroupScores:
        """From the weighted noise w_i v_i of the rows, (row,)."""
        from scipy.sparse import csr_array  # audits without groups need no SciPy

        seen = functions.cells.rows_in_cells
        number = functions.cells.number[seen]
        values = (weighted[seen] * functions.scale[number]).numpy()
        places = groups.number[seen].numpy(), number.numpy()
        cells = csr_array((values, places), shape=(groups.count, functions.cells.count))  # sums what is given twice
        return cls(groups.sums(functions.columns * weighted.unsqueeze(1)), cells)

    def beside(self, others: Tensor) -> GroupScores:
        """With further scores after those of the columns, (group, other)."""
        return GroupScores(torch.cat([self.columns, others], dim=1), self.cells)

    def diagonal(self) -> Tensor:
        """K_jj = Σ_g s_gj², (function,)."""
        of_cells = torch.from_numpy(self.cells.power(2).sum(axis=0))
        return torch.cat([self.columns.square().sum(dim=0), of_cells])

    def forms(self, weights: Tensor) -> Tensor:
        """s_gᵀ diag(q) s_g of each group: (function,) -> (group,)."""
        of_columns, of_cells = weights.tensor_split([self.columns.shape[1]])
        return self.columns.square() @ of_columns + torch.from_numpy(self.cells.power(2) @ of_cells.numpy())

    def covariance(self) -> CoefficientCovariance:
        """K = Σ_g s_g s_gᵀ."""
        columns = self.columns.T @ self.columns
        if not self.cells.shape[1]:
            return CoefficientCovariance.of_columns(columns)
        across = torch.from_numpy(self.cells.T @ self.columns.numpy())
        among_cells = (self.cells.T @ self.cells).tocsr()
        cells, none = torch.from_numpy(among_cells.diagonal()), CellProducts.without_sets(columns)
        return GroupCovariance(columns, across, cells, among_cells, self, cell_products=none)


@dataclass(frozen=True)
class SparseCovariance(CoefficientCovariance):
    """K where cells depend on each other: ``among_cells`` is sparse (cell, cell), with ``cells`` on its diagonal.

    The difference of two, which need not be a covariance, is of this type: no draws are asked of it.
    """

    among_cells: csr_array

    def __sub__(self, other: CoefficientCovariance) -> SparseCovariance:
        if not isinstance(other, SparseCovariance):
            return NotImplemented
        dense, among_cells = super().__sub__(other), self.among_cells - other.among_cells
        return SparseCovariance(dense.columns, dense.across, dense.cells, among_cells, cell_products=self.cell_products)

    def trace_of_square(self, weights: Tensor) -> Tensor:
        of_columns, of_cells = weights.tensor_split([len(self.columns)], dim=-1)
        both = of_columns @ self.columns.square() + 2 * (of_cells @ self.across.square())
        among = torch.from_numpy((self.among_cells.power(2) @ of_cells.numpy().T).T)
        return (both * of_columns).sum(dim=-1) + (among * of_cells).sum(dim=-1)


@dataclass(frozen=True)
class GroupCovariance(SparseCovariance):
    """The same with the scores that it was made of: a draw is Σ_g z_g s_g, of one normal number per group."""

    scores: GroupScores

    @property
    def normal_count(self) -> int:
        return len(self.scores.columns)

    def drawn_forms(self, normal: Tensor, weights: Tensor) -> Tensor:
        of_columns, of_cells = weights.tensor_split([len(self.columns)], dim=1)
        forms = []
        for part in torch.split(normal, _DRAWS):
            cells = torch.from_numpy(self.scores.cells.T @ part.numpy().T)  # (cell, draw)
            forms.append((part @ self.scores.columns).square() @ of_columns.T + (of_cells @ cells.square_()).T)
        return torch.cat(forms)

    def in_normals(self, combinations: Tensor) -> Tensor:
        of_columns, of_cells = combinations.tensor_split([len(self.columns)], dim=1)
        return of_columns @ self.scores.columns.T + torch.from_numpy(self.scores.cells @ of_cells.numpy().T).T

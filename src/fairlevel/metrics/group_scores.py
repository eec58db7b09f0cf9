r"""Noise of coefficients where rows belong to groups, with functions of cells that are not written out.

The covariance of coefficients is K = Σ_g s_g s_gᵀ with s_g the scores of a group, sums of w_i v_i b_i over its rows. A
group has rows in few cells: scores of cells are sparse, and so are products of two of them. Σ_g z_g s_g with standard
normal z has the covariance K without a decomposition.
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
    """Scores of groups: of columns (group, column), and of scaled indicators of cells, sparse (group, cell)."""

    columns: Tensor
    cells: csr_array

    @classmethod
    def of(cls, functions: SignedFunctions, scale: Tensor, groups: RowGroups) -> GroupScores:
        """Σ_{i in g} s_i b_i for functions b and the scale s of each row, (row,)."""
        from scipy.sparse import csr_array  # audits without groups need no SciPy

        seen = torch.nonzero(functions.cells.number >= 0).squeeze(1)
        number = functions.cells.number[seen]
        values = (scale[seen] * functions.scale[number]).numpy()
        places = groups.number[seen].numpy(), number.numpy()
        cells = csr_array((values, places), shape=(groups.count, functions.cells.count))  # sums what is given twice
        return cls(groups.sums(functions.columns * scale.unsqueeze(1)), cells)

    def beside(self, others: Tensor) -> GroupScores:
        """With further scores after those of the columns, (group, other)."""
        return GroupScores(torch.cat([self.columns, others], dim=1), self.cells)

    def squares(self) -> Tensor:
        """Σ_g s_g² of each function, (function,)."""
        of_cells = torch.from_numpy(self.cells.power(2).sum(axis=0))
        return torch.cat([self.columns.square().sum(dim=0), of_cells])

    def own(self, weights: Tensor) -> Tensor:
        """s_gᵀ q s_g of each group: (function,) -> (group,)."""
        of_columns, of_cells = weights.tensor_split([self.columns.shape[1]])
        return self.columns.square() @ of_columns + torch.from_numpy(self.cells.power(2) @ of_cells.numpy())

    def covariance(self) -> CoefficientCovariance:
        """K = Σ_g s_g s_gᵀ, the covariance of the coefficients, as products of columns and of cells."""
        columns = self.columns.T @ self.columns
        if not self.cells.shape[1]:
            return CoefficientCovariance.of_columns(columns)
        across = torch.from_numpy(self.cells.T @ self.columns.numpy())
        products = (self.cells.T @ self.cells).tocsr()
        cell_products = CellProducts.without_sets(columns)
        return DrawnByGroup(
            columns, across, torch.from_numpy(products.diagonal()), products, self, cell_products=cell_products
        )


@dataclass(frozen=True)
class GroupCovariance(CoefficientCovariance):
    """K where cells depend on each other: products (cell, cell), sparse, with ``cells`` on the diagonal. Of differences
    of two, which need not be covariances, only forms are asked.
    """

    products: csr_array

    def __sub__(self, other: CoefficientCovariance) -> GroupCovariance:
        if not isinstance(other, GroupCovariance):
            return NotImplemented
        plain = super().__sub__(other)
        products = self.products - other.products
        return GroupCovariance(plain.columns, plain.across, plain.cells, products, cell_products=self.cell_products)

    def trace_of_square(self, weights: Tensor) -> Tensor:
        of_columns, of_cells = weights.tensor_split([len(self.columns)], dim=-1)
        both = of_columns @ self.columns.square() + 2 * (of_cells @ self.across.square())
        among = torch.from_numpy((self.products.power(2) @ of_cells.numpy().T).T)
        return (both * of_columns).sum(dim=-1) + (among * of_cells).sum(dim=-1)


@dataclass(frozen=True)
class DrawnByGroup(GroupCovariance):
    """The same with the scores that it is the covariance of: draws are sums over groups."""

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

r"""Covariances of coefficients on signed functions, and draws from them.

Where rows are independent, coefficients of different cells are, too. So the covariance of columns and cells is

.. math:: K = \begin{pmatrix} K_{bb} & K_{zb}^\top \\ K_{zb} & \operatorname{diag}(k) \end{pmatrix} .

To draw from N(0, K), cells are drawn first, √k z. Given these, columns have the mean zᵀM with M = diag(k)^(−1/2) K_zb,
and the covariance K_bb − MᵀM = R Rᵀ, which only needs a decomposition as large as there are columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from fairlevel.conditional_mean.cells.cell_products import CellProducts

_DRAWS = 256  # at a time


@dataclass(frozen=True)
class CoefficientCovariance:
    """The covariance K of coefficients on columns, then cells: "function" in shapes below stands for both.

    Parameters
    ----------
    columns : K_bb, (column, column)
    across : K_zb, (cell, column)
    cells : k, (cell,)
    cell_products : makes products with ``across`` cheaper
    """

    columns: Tensor
    across: Tensor
    cells: Tensor
    cell_products: CellProducts = field(kw_only=True)

    @classmethod
    def of_columns(cls, columns: Tensor) -> CoefficientCovariance:
        """Without cells."""
        across = columns.new_empty(0, len(columns))
        return cls(columns, across, columns.new_empty(0), cell_products=CellProducts.without_sets(across))

    def __sub__(self, other: CoefficientCovariance) -> CoefficientCovariance:
        columns, across, cells = self.columns - other.columns, self.across - other.across, self.cells - other.cells
        return CoefficientCovariance(columns, across, cells, cell_products=self.cell_products)

    def diagonal(self) -> Tensor:
        """(function,)"""
        return torch.cat([self.columns.diagonal(), self.cells])

    def trace_of_square(self, weights: Tensor) -> Tensor:
        """tr(qKqK) = Σ_jk q_j q_k K_jk²: (…, function) -> (…)."""
        of_columns, of_cells = weights.tensor_split([len(self.columns)], dim=-1)
        both = of_columns @ self.columns.square() + 2 * (of_cells @ self.across.square())
        return (both * of_columns).sum(dim=-1) + of_cells.square() @ self.cells.square()

    @property
    def normal_count(self) -> int:
        """How many standard normal numbers a draw from N(0, K) takes."""
        return len(self.columns) + len(self.cells)

    def drawn_forms(self, normal: Tensor, weights: Tensor) -> Tensor:
        """Σ_j q_j c_j² of draws c from N(0, K), made of standard normal numbers: (draw, normal), (form, function) ->
        (draw, form). The numbers of columns come first.
        """
        (of_columns, of_cells), (root, known) = weights.tensor_split([len(self.columns)], dim=1), self._roots()
        by_cells = self.cell_products.factored(known)
        forms = []
        for part in torch.split(normal, _DRAWS):
            for_columns, for_cells = part.tensor_split([len(self.columns)], dim=1)
            columns = by_cells.products(for_cells).addmm_(for_columns, root.T)
            forms.append(torch.addmm(columns.square_() @ of_columns.T, for_cells.square(), (of_cells * self.cells).T))
        return torch.cat(forms)

    def in_normals(self, combinations: Tensor) -> Tensor:
        """Combinations of coefficients as combinations of the standard normal numbers of a draw: (combination,
        function) -> (combination, normal).
        """
        of_columns, of_cells = combinations.tensor_split([len(self.columns)], dim=1)
        root, known = self._roots()
        return torch.cat([of_columns @ root, of_columns @ known.T + of_cells * self.cells.sqrt()], dim=1)

    def _roots(self) -> tuple[Tensor, Tensor]:
        """R (column, column) and M (cell, column); 0 for cells without noise."""
        known = self.across * torch.where(self.cells > 0, self.cells.rsqrt(), 0).unsqueeze(1)
        moments, vectors = torch.linalg.eigh(self.columns - known.T @ known)
        return vectors * moments.clamp_min(0).sqrt(), known

r"""The own functions of cells, which need not be written out.

Own functions are all combinations Ex of scaled indicators E that are orthogonal to a few shared functions EU; x and U
are orthonormal. (E U) and (E x) together are another orthonormal basis of all functions of the cells. So any sum of
squares over own functions is that over E less that over EU.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fairlevel.conditional_mean.cells.membership import Membership
from fairlevel.conditional_mean.linear_algebra import thin_svd


@dataclass(frozen=True)
class OwnFunctions:
    """All functions of some cells that are orthogonal to shared ones, as neighbours in an orthonormal basis. They have
    the same shrinkage.

    Parameters
    ----------
    first : the place of the first of them in the basis
    cells : the cell of each row
    weight : p of each cell, (cell,)
    shared : the shared functions as functions of the cell, diag(p)^(−1/2) U, (cell, shared function)
    """

    first: int
    cells: Membership
    weight: Tensor
    shared: Tensor

    @property
    def count(self) -> int:
        """The number of own functions."""
        return len(self.weight) - self.shared.shape[1]

    @property
    def end(self) -> int:
        """The place after the last one."""
        return self.first + self.count

    def shifted(self, by: int) -> OwnFunctions:
        """The same functions at other places of a basis."""
        return replace(self, first=self.first + by)

    def written_out(self) -> Tensor:
        """The functions at each row, (row, own function)."""
        root = self.weight.sqrt().unsqueeze(1)
        return self.cells.at_rows(_complement(self.shared * root).div_(root))


def _complement(columns: Tensor) -> Tensor:
    r"""Orthonormal columns orthogonal to k orthonormal ones: (row, k) -> (row, row − k).

    With UΣVᵀ the first k rows and P the other rows times V, they are one block reflector's, at the cost of a product:

    .. math:: \begin{pmatrix} -U P^\top \\ I - P (I + \Sigma)^{-1} P^\top \end{pmatrix}
    """
    count = columns.shape[1]
    left, singular, right = thin_svd(columns[:count])
    others = columns[count:] @ right.T
    result = columns.new_zeros(len(columns), len(others))
    torch.mm(-left, others.T, out=result[:count])
    result[count:].fill_diagonal_(1).addmm_(others / (1 + singular), others.T, alpha=-1)
    return result

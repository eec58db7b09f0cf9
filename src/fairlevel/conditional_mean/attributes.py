"""The sensitive attributes of some rows, as every penalty and every conditional mean receives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.exceptions import InvalidInput


@dataclass(frozen=True)
class Attributes:
    """What disparity is measured across.

    Parameters
    ----------
    values : A, one column per attribute, (row, attribute)
    given : functions of legitimate factors L, (row, function); differences that they explain are no disparity. None
        stands for the constant alone
    row_weight : how much each row counts, (row,), on any scale; None counts all rows alike
    """

    values: Array
    given: Array | None = None
    row_weight: Array | None = None

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Index) -> Attributes:
        """Some of the rows."""
        given = None if self.given is None else self.given[rows]
        return Attributes(self.values[rows], given, None if self.row_weight is None else self.row_weight[rows])

    @property
    def weight(self) -> Array:
        """Row weights that sum to 1, (row,)."""
        if self.row_weight is None:
            return np.full(len(self.values), 1 / len(self.values))
        total = self.row_weight.sum()
        if not total > 0:
            raise InvalidInput("The row weights sum to zero; positive weights are needed.")
        weight: Array = self.row_weight / total
        return weight

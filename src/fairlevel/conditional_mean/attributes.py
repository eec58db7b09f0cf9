"""The sensitive attributes of some rows, as every penalty and every conditional mean receives them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.exceptions import InvalidInput

Made = TypeVar("Made")


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

    def made(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What is computed from these rows, such as a factored smoother: here anew at each call."""
        return make()

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


@dataclass(frozen=True)
class KeptAttributes(Attributes):
    """Attributes that keep what was computed from them, for as long as they live: several users of the same rows, or of
    the same part of them, then share one factorisation.
    """

    _kept: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, attributes: Attributes) -> KeptAttributes:
        return cls(attributes.values, attributes.given, attributes.row_weight)

    def take(self, rows: Index) -> KeptAttributes:
        if np.array_equal(rows, np.arange(len(self))):
            return self
        return self.made(("rows", rows.tobytes()), lambda: KeptAttributes.of(super(KeptAttributes, self).take(rows)))

    def made(self, key: Hashable, make: Callable[[], Made]) -> Made:
        if key not in self._kept:
            self._kept[key] = make()
        found: Made = self._kept[key]
        return found

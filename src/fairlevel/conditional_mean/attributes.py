"""The sensitive attributes of some rows, as every penalty and every conditional mean receives them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.exceptions import InvalidInput

Made = TypeVar("Made")
_OF_ROWS = "values", "given", "row_weight", "factors", "groups", "learnt"


def concatenated(first: Array | None, second: Array | None) -> Array | None:
    """Rows of both, one set after the other; None where one of them has none."""
    return None if first is None or second is None else np.concatenate([first, second])


@dataclass(frozen=True)
class Attributes:
    """What disparity is measured across.

    Parameters
    ----------
    values : A, one column per attribute, (row, attribute)
    given : functions of legitimate factors L, (row, function); differences that they explain are no disparity. None
        stands for the constant alone
    row_weight : how much each row counts, (row,), on any scale; None counts all rows alike
    factors : L itself, (row, factor), for functions of A and L together; None where there is no L. ``given`` and
        ``factors`` come from :class:`fairlevel.conditional_mean.factors.LegitimateFactors`
    groups : which rows belong together, such as the measurements of one person, (row,); None: all are independent
    learnt : functions of A that are learnt from predictions, (row, function); None where there are none
    follow_factors : False where ``given`` does not follow all that L says about these predictions
    """

    values: Array
    given: Array | None = None
    row_weight: Array | None = None
    factors: Array | None = None
    groups: Index | None = None
    learnt: Array | None = None
    follow_factors: bool = True
    _kept: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.values)

    def __getstate__(self) -> dict[str, Any]:
        """What was computed from the rows can be computed again, and need not be picklable."""
        return {**vars(self), "_kept": {}}

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What ``make`` computes from these rows alone; asked again for the same key, it is not computed again. So all
        users of the same rows, or of the same part of them, share one factorisation.
        """
        if key not in self._kept:
            self._kept[key] = make()
        made: Made = self._kept[key]
        return made

    def take(self, rows: Index) -> Attributes:
        """Some of the rows; for the same ones the same object."""
        if np.array_equal(rows, np.arange(len(self))):
            return self
        return self.once(("rows", digest(rows)), lambda: self.part(rows))

    def part(self, rows: Index | slice) -> Attributes:
        """Some of the rows; the whole does not keep them."""
        columns = {name: vars(self)[name] for name in _OF_ROWS}
        return replace(self, **{name: values[rows] for name, values in columns.items() if values is not None})

    def joined(self, other: Attributes) -> Attributes:
        """Both sets of rows, without their groups."""

        def both() -> Attributes:
            values = np.concatenate([self.values, other.values])
            given, factors = concatenated(self.given, other.given), concatenated(self.factors, other.factors)
            return Attributes(values, given, concatenated(self.row_weight, other.row_weight), factors)

        return self.once(("and", digest(other.columns, other.given, other.counts)), both)

    @property
    def counts(self) -> Array:
        """How much each row counts, 1 where all count alike, (row,)."""
        return np.ones(len(self.values)) if self.row_weight is None else self.row_weight

    @property
    def weight(self) -> Array:
        """Row weights that sum to 1, (row,)."""
        total = self.counts.sum()
        if not total > 0:
            raise InvalidInput("The row weights sum to zero; positive weights are needed.")
        weight: Array = self.counts / total
        return weight

    @property
    def columns(self) -> Array:
        """A and L side by side, (row, attribute + factor); A alone where there is no L."""
        return self.values if self.factors is None else np.hstack([self.values, self.factors])


def digest(*arrays: Array | Index | None) -> bytes:
    """A short name for the content of arrays."""
    content = blake2b()
    for array in arrays:
        content.update(b"none" if array is None else array.tobytes())
    return content.digest()

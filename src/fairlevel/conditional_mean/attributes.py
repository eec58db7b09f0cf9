"""The sensitive attributes of some rows, as every penalty and every conditional mean receives them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.exceptions import InvalidInput

Made = TypeVar("Made")


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
    """

    values: Array
    given: Array | None = None
    row_weight: Array | None = None
    factors: Array | None = None
    groups: Index | None = None
    learnt: Array | None = None
    _last: dict[Hashable, object] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.values)

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What ``make`` computes from these rows alone; asked again for the same key, it is not computed again. The
        last one is kept, for as long as the rows are.
        """
        if key not in self._last:
            made = make()
            self._last.clear()
            self._last[key] = made
        return self._last[key]  # type: ignore[return-value]

    def take(self, rows: Index) -> Attributes:
        """Some of the rows."""

        def some(part: Array | None) -> Array | None:
            return None if part is None else part[rows]

        groups = None if self.groups is None else self.groups[rows]
        return Attributes(
            self.values[rows],
            some(self.given),
            some(self.row_weight),
            some(self.factors),
            groups,
            some(self.learnt),
        )

    def joined(self, other: Attributes) -> Attributes:
        """Both sets of rows, without their groups."""
        values = np.concatenate([self.values, other.values])
        given, factors = concatenated(self.given, other.given), concatenated(self.factors, other.factors)
        return Attributes(values, given, concatenated(self.row_weight, other.row_weight), factors)

    @property
    def counts(self) -> Array:
        """How much each row counts, 1 where all count alike, (row,)."""
        return np.ones(len(self.values)) if self.row_weight is None else self.row_weight

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

    @property
    def columns(self) -> Array:
        """A and L side by side, (row, attribute + factor); A alone where there is no L."""
        return self.values if self.factors is None else np.hstack([self.values, self.factors])


@dataclass(frozen=True)
class KeptAttributes(Attributes):
    """Attributes that keep what was computed from them, so that several users of the same rows, or of the same
    part of them, share one factorisation.
    """

    _kept: dict[Hashable, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @classmethod
    def of(cls, attributes: Attributes) -> KeptAttributes:
        """The same rows; those that keep things already are returned as they are."""
        if isinstance(attributes, KeptAttributes):
            return attributes
        own = attributes
        return cls(own.values, own.given, own.row_weight, own.factors, own.groups, own.learnt)

    def take(self, rows: Index) -> KeptAttributes:
        if np.array_equal(rows, np.arange(len(self))):
            return self
        return self.once(("rows", rows.tobytes()), lambda: KeptAttributes.of(super(KeptAttributes, self).take(rows)))

    def joined(self, other: Attributes) -> KeptAttributes:
        key = ("and", other.columns.tobytes(), other.counts.tobytes())
        return self.once(key, lambda: KeptAttributes.of(super(KeptAttributes, self).joined(other)))

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """The same, with everything kept."""
        if key not in self._kept:
            self._kept[key] = make()
        found: Made = self._kept[key]
        return found

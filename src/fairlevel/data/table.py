"""Validated numeric rows: what every fit starts from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairlevel.arrays import Array, Flags, Index
from fairlevel.data.encoder import Encoding
from fairlevel.data.sensitive import Sensitive
from fairlevel.data.splitting import AnyRows, Splitting
from fairlevel.exceptions import MissingSensitiveFeatures


@dataclass(frozen=True)
class Table:
    """Shapes: x (row, feature), y (row,), sensitive (row, attribute) or None, row_weight (row,), all above zero, or
    None, factors: legitimate factors (row, factor) or None. Columns of x whose numbers are in ``categorical`` hold
    categories as whole numbers; x may then have gaps (NaN). ``numbers`` says which of the rows given these are, (row,);
    None stands for all. With an ``encoding``, x holds columns as read, which every fit encodes by its own rows.
    ``known`` says which rows have sensitive attributes, (row,); None stands for all; those of the others mean nothing.
    ``splitting`` says which rows may be split; None: any.
    """

    x: Array
    y: Array
    sensitive: Sensitive | None
    categorical: tuple[int, ...] = ()
    row_weight: Array | None = None
    numbers: Index | None = None
    factors: Array | None = None
    encoding: Encoding | None = None
    known: Flags | None = None
    splitting: Splitting | None = None

    @property
    def splits(self) -> Splitting:
        """How rows may be split."""
        return AnyRows(len(self)) if self.splitting is None else self.splitting

    @property
    def known_rows(self) -> Index:
        """Numbers of the rows whose sensitive attributes are known."""
        return np.arange(len(self)) if self.known is None else np.flatnonzero(self.known)

    @property
    def attribute_weight(self) -> Array | None:
        """How much each row counts for disparity, (row,): nothing where attributes are not known."""
        if self.known is None:
            return self.row_weight
        return self.known.astype(np.float64) if self.row_weight is None else self.row_weight * self.known

    @cached_property
    def gaps(self) -> bool:
        """Whether features are missing somewhere."""
        return bool(np.isnan(self.x).any())

    def __len__(self) -> int:
        return len(self.y)

    @property
    def attributes(self) -> Array:
        """The sensitive attributes of a table that must have some, (row, attribute)."""
        if self.sensitive is None:
            raise MissingSensitiveFeatures("sensitive_features is needed; pass fit(X, y, sensitive_features=A).")
        return self.sensitive.values

    @property
    def weight(self) -> Array:
        """Row weights that sum to 1, (row,)."""
        if self.row_weight is None:
            return np.full(len(self), 1 / len(self))
        weight: Array = self.row_weight / self.row_weight.sum()
        return weight

    @property
    def given_rows(self) -> Index:
        """The numbers of these rows among those given, (row,)."""
        return np.arange(len(self)) if self.numbers is None else self.numbers

    def rows(self, index: Index) -> Table:
        """Some of the rows; attributes as 64-bit numbers."""
        sensitive = self.sensitive
        if sensitive is not None:
            sensitive = replace(sensitive, values=sensitive.values[index].astype(np.float64, copy=False))
        known = None if self.known is None else self.known[index]
        return replace(
            self,
            x=self.x[index],
            y=self.y[index],
            sensitive=sensitive,
            row_weight=None if self.row_weight is None else self.row_weight[index],
            numbers=self.given_rows[index],
            factors=None if self.factors is None else self.factors[index],
            known=None if known is None or known.all() else known,
            splitting=None if self.splitting is None else self.splitting.take(index),
        )

    def encoded(self) -> tuple[Table, Encoding | None]:
        """With x as predictors see it, by rules learnt from these rows, and those rules; the table itself where there
        is nothing to encode.
        """
        if self.encoding is None:
            return self, None
        learnt = self.encoding.fit(self.x)
        return replace(self, x=learnt.transform(self.x), encoding=None), learnt

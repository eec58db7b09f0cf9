"""Encoding inside a fit: rules are learnt anew from the rows that train, never from rows that judge."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sklearn.base import clone

from fairlevel.arrays import Array
from fairlevel.data.encoder import TableEncoder
from fairlevel.data.native_columns import NativeColumns


@dataclass(frozen=True)
class Encoding:
    """How rows of a :class:`fairlevel.data.table.Table`, with categories as whole numbers and gaps as NaN, become the
    numbers that predictors see. ``encoder`` may be unfitted; what each column holds is known from all rows.
    """

    encoder: TableEncoder
    columns: NativeColumns
    names: tuple[str, ...]

    def fit(self, x: Array) -> Encoding:
        """With rules learnt from these rows, (row, column)."""
        kinds = dict(zip(self.names, self.columns.kinds, strict=True))
        return replace(self, encoder=clone(self.encoder).learn(kinds, self.columns.values(self.names, x)))

    def transform(self, x: Array) -> Array:
        """(row, column) -> (row, feature); the encoder must be fitted."""
        return self.encoder.encode(self.columns.values(self.names, x))

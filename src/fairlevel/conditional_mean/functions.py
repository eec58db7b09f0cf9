"""Functions of A at some rows: levels, which are counted, and columns of numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fairlevel.arrays import Array, Index

_BLOCK = 4_096  # rows whose squared functions stay in cache


@dataclass(frozen=True)
class Functions:
    r"""Orthonormal functions at rows: the indicators of levels, over the root of the level's weight, then columns.

    Indicators are not written out, and not centred: their products are meant for predictions with mean 0, for which
    both is the same. Shapes: columns (row, column); level, the number of each row's level, −1 for none, (row,); scale,
    :math:`p^{-1/2}` for the weight p of each level, (level,).
    """

    columns: Array
    level: Index | None = None
    scale: Array = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def count(self) -> int:
        return len(self.scale) + self.columns.shape[1]

    def take(self, rows: slice | Index) -> Functions:
        """At some of the rows."""
        return Functions(self.columns[rows], None if self.level is None else self.level[rows], self.scale)

    def until(self, count: int) -> Functions:
        """The first functions alone."""
        return Functions(self.columns[:, : count - len(self.scale)], self.level, self.scale)

    def sums(self, values: Array) -> Array:
        """Σ_i v_i b_i: (…, row) -> (…, function)."""
        of_columns = values @ self.columns
        if self.level is None:
            return of_columns
        flat = values.reshape(-1, values.shape[-1])
        counted = np.stack([np.bincount(self.level, each, len(self.scale)) for each in flat]) * self.scale
        return np.concatenate([counted.reshape(*values.shape[:-1], -1), of_columns], axis=-1)

    def combined(self, coefficients: Array) -> Array:
        """Σ_j c_j b_j at each row: (…, function) -> (…, row)."""
        levels = len(self.scale)
        values: Array = coefficients[..., levels:] @ self.columns.T
        if self.level is not None:
            values += np.append(coefficients[..., :levels] * self.scale, np.zeros_like(coefficients[..., :1]), axis=-1)[
                ..., self.level
            ]
        return values

    def squares(self, weights: Array) -> Array:
        """Σ_j q_j b_j² at each row: (…, function) -> (…, row). All levels have the same weight q."""
        levels = len(self.scale)
        of_columns, result = weights[..., levels:].T, np.empty((*weights.shape[:-1], len(self)))
        for start in range(0, len(self), _BLOCK):
            rows = slice(start, start + _BLOCK)
            result[..., rows] = (np.square(self.columns[rows], dtype=np.float64) @ of_columns).T
        if self.level is not None:  # centred indicators have the sum of squares 1 / p − 1
            result += weights[..., :1] * (self.scale**2 - 1)[self.level]
        return result

    def written_out(self) -> Array:
        """All functions, with mean 0, (row, function)."""
        if self.level is None:
            return self.columns
        indicators = np.zeros((len(self), len(self.scale)))
        known = np.flatnonzero(self.level >= 0)
        indicators[known, self.level[known]] = self.scale[self.level[known]]
        indicators[known] -= 1 / self.scale
        return np.hstack([indicators, self.columns])

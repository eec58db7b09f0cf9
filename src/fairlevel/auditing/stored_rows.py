"""Rows of Parquet files as an audit reads them: roles of columns, gaps, and quantities of which DPVar is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairlevel.arrays import Array, Flags
from fairlevel.auditing.questions import quantities
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.factors import LegitimateFactors
from fairlevel.data.batch_columns import BatchColumn, numbers, read_matrix
from fairlevel.data.numbers import LARGEST
from fairlevel.exceptions import InvalidInput


@dataclass(frozen=True)
class Roles:
    """What the columns of the files are."""

    predictions: tuple[str, ...]
    sensitive: tuple[str, ...]
    given: tuple[str, ...] = ()
    weight: str | None = None
    target: str | None = None
    threshold: float | None = None
    categories: tuple[str, ...] = ()

    @property
    def attributes(self) -> tuple[str, ...]:
        """A and L."""
        return (*self.sensitive, *self.given)

    @property
    def numeric_columns(self) -> tuple[str, ...]:
        """Predictions, y and weights: columns of numbers that every row needs."""
        return (*self.predictions, *(name for name in (self.target, self.weight) if name is not None))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.numeric_columns, *self.attributes)))

    def read_numeric(self, batch: Mapping[str, Any]) -> dict[str, Array]:
        """Predictions, y and weights of a batch, (row,) each."""
        return {name: numbers(name, batch[name]) for name in self.numeric_columns}

    def check(self, numeric: Mapping[str, Array], complete: Flags) -> Flags:
        """Which rows count: those with all attributes and a weight above 0; bad numbers in any of them are errors."""
        if self.weight is not None:
            weight = numeric[self.weight][complete]
            if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.max(initial=0) <= LARGEST):
                raise InvalidInput(
                    f"Column {self.weight!r} holds weights that are missing, infinite or negative; finite weights ≥ 0 "
                    "are needed: use 0 for rows that should not count."
                )
            complete = complete & (numeric[self.weight] > 0)
        for name in (*self.predictions, *(() if self.target is None else (self.target,))):
            values = numeric[name][complete]
            bad = int((~(np.abs(values) <= LARGEST)).sum())
            if bad:
                raise InvalidInput(
                    f"Column {name!r} holds {bad} missing, infinite or huge values in one part of the rows; drop those "
                    "rows from the files."
                )
        return complete

    def quantities(self, numeric: Mapping[str, Array]) -> dict[tuple[str, str], Array]:
        """By (prediction, question): the prediction itself, "", then errors and decisions; (row,) each."""
        target = None if self.target is None else numeric[self.target]
        by_question = {}
        for name in self.predictions:
            by_question[name, ""] = numeric[name]
            for question, (_, values) in quantities(numeric[name], target, self.threshold).items():
                by_question[name, question] = values
        return by_question


@dataclass(frozen=True)
class StoredRows:
    """How batches become attributes and quantities: the same for every read, and for a later month."""

    roles: Roles
    sensitive: tuple[BatchColumn, ...]
    given: tuple[BatchColumn, ...] = ()
    functions: LegitimateFactors | None = None
    signs: tuple[float, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns of A as numbers."""
        return tuple(name for column in self.sensitive for name in column.names)

    @property
    def sources(self) -> tuple[int, ...]:
        """For each of them the number of the given column."""
        return tuple(number for number, column in enumerate(self.sensitive) for _ in column.names)

    def read(self, batch: Mapping[str, Any]) -> tuple[Attributes, Array]:
        """The rows of a batch that count, and their quantities, (config, row)."""
        values = read_matrix(self.sensitive, batch)
        factors = read_matrix(self.given, batch) if self.given else None
        numeric = self.roles.read_numeric(batch)
        complete = _complete(values) if factors is None else _complete(values) & _complete(factors)
        used = self.roles.check(numeric, complete)
        counted = slice(None) if used.all() else used
        numeric = {name: column[counted] for name, column in numeric.items()}
        rows = self.attributes(
            values[counted],
            None if factors is None else factors[counted],
            None if self.roles.weight is None else numeric[self.roles.weight],
        )
        return rows, np.stack(list(self.roles.quantities(numeric).values()))

    def attributes(self, values: Array, factors: Array | None, weight: Array | None) -> Attributes:
        """A, or A within L; (row, attribute), (row, factor), (row,). Signs of A do not matter (metrics/orientation)."""
        values = values * np.array(self.signs) if self.signs else values
        if factors is None or self.functions is None:
            return Attributes(values, row_weight=weight)
        return self.functions.attributes(values, factors, weight)


def _complete(values: Array) -> Flags:
    """Rows without a gap, (row, column) -> (row,)."""
    return np.asarray(~np.isnan(values).any(axis=1))

"""A learning problem as every method sees it: standardised rows in four parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.benchmark.protocol import Protocol
from fairlevel.candidates.fitting import Scaling
from fairlevel.data.scaling import Scaler
from fairlevel.data.sensitive import refuse_too_many_attributes
from fairlevel.data.synthetic import TrueDPVar
from fairlevel.data.table import Table
from fairlevel.exceptions import InvalidInput
from fairlevel.training.rows import TrainingRows

FEWEST = 8  # rows a part needs: the diagnostic fits a network on half of them

Predict = Callable[[Array], Array]
"""Standardised x (row, feature) -> predictions (config, row)."""

Parts = tuple[TrainingRows, TrainingRows, TrainingRows]
"""Training rows (IN first, then OUT), validation rows, test rows."""


@dataclass(frozen=True)
class Problem:
    """Training rows (IN first, then OUT), validation and test rows, all scaled by the training rows.

    ``about`` goes into every row of results. ``true_dpvar`` is there where the design is known: it takes predictors and
    gives their DPVar in standardised units.
    """

    name: str
    seed: int
    training: TrainingRows
    validation: TrainingRows
    test: TrainingRows
    about: Mapping[str, Any] = field(default_factory=dict)
    true_dpvar: Callable[[Predict], TrueDPVar] | None = None

    def with_attributes_as_features(self) -> Problem:
        """The same problem with A behind the features, for methods that need A to predict. The design's rows carry no
        A, so that the truth is not known for such a method.
        """
        parts = (self.training, self.validation, self.test)
        known, choosing, judging = (replace(part, x=np.hstack([part.x, part.some_attributes.values])) for part in parts)
        return replace(self, training=known, validation=choosing, test=judging, true_dpvar=None)


def split_rows(name: str, rows: int, seed: int, protocol: Protocol) -> list[Index]:
    """Row numbers of IN, OUT, VAL and TEST, by seed."""
    ends = np.round(np.cumsum(protocol.split) * rows).astype(int)
    parts = np.split(np.random.default_rng(seed).permutation(rows), ends[:-1])
    if min(map(len, parts)) < FEWEST:
        needed = int(np.ceil(FEWEST / min(protocol.split)))
        raise InvalidInput(f"{name} has {rows} rows; at least {needed} are needed to split them into four parts.")
    return parts


def scaled_parts(table: Table, parts: Sequence[Index], protocol: Protocol) -> tuple[Parts, Scaler]:
    """Standardise by IN ∪ OUT, clip x and A; with the scaler of x."""
    inside, outside, validation, test = parts
    training = np.concatenate([inside, outside])
    refuse_too_many_attributes(table.attributes.shape[1], len(training))
    scaling = Scaling.of(table.rows(training), clip=protocol.clip)
    rows = scaling.rows(table, training, len(inside)), scaling.rows(table, validation), scaling.rows(table, test)
    learning, choosing, judging = (replace(part, x=scaling.x.transform(part.x)) for part in rows)
    return (learning, choosing, judging), scaling.x


def about(source: str, parts: Parts, sensitive: str = "", copies: int = 0) -> dict[str, Any]:
    """Facts on a problem that every row of its results carries."""
    training = parts[0]
    return {
        "source": source,
        "rows": sum(map(len, parts)),
        "features": training.x.shape[1],
        "attributes": training.some_attributes.values.shape[1],
        "sensitive": sensitive,
        "copies": copies,
    }

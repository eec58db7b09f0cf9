"""A learning problem as every method sees it: standardised rows in four parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairlevel.benchmark.protocol import Protocol
from fairlevel.data.scaling import Array, Scaler
from fairlevel.data.sensitive import refuse_too_many_attributes
from fairlevel.data.synthetic import SyntheticDesign, TrueDPVar
from fairlevel.exceptions import InvalidInput
from fairlevel.training.grid import Samples

FEWEST = 8  # rows a part needs: the diagnostic fits a network on half of them

Predict = Callable[[Array], Array]
"""Standardised x (row, feature) -> predictions (config, row)."""


@dataclass(frozen=True)
class Problem:
    """Training rows (IN first, then OUT), validation and test rows, all scaled by the training rows.

    ``true_dpvar`` is there where the design is known: it takes predictors and gives their DPVar in standardised units.
    """

    name: str
    seed: int
    training: Samples
    validation: Samples
    test: Samples
    true_dpvar: Callable[[Predict], TrueDPVar] | None = None


def split_problem(name: str, seed: int, x: Array, y: Array, sensitive: Array, protocol: Protocol) -> Problem:
    """Split by seed into IN, OUT, VAL and TEST, standardise by IN ∪ OUT, clip x and A."""
    return _split(name, seed, x, y, sensitive, protocol)[0]


def synthetic_problem(design: SyntheticDesign, rows: int, seed: int, protocol: Protocol) -> Problem:
    """Rows of the paper's synthetic design, with its true DPVar."""
    drawn = design.sample(rows, seed)
    name = f"synthetic-beta{design.beta_int:g}-k{design.attributes}"
    problem, scaler = _split(name, seed, drawn.x, drawn.y, drawn.a, protocol)

    def true_dpvar(predict: Predict) -> TrueDPVar:
        return design.true_dpvar(lambda fresh: predict(scaler.transform(fresh)))

    return Problem(problem.name, seed, problem.training, problem.validation, problem.test, true_dpvar)


def _split(name: str, seed: int, x: Array, y: Array, sensitive: Array, protocol: Protocol) -> tuple[Problem, Scaler]:
    ends = np.round(np.cumsum(protocol.split) * len(y)).astype(int)
    parts = np.split(np.random.default_rng(seed).permutation(len(y)), ends[:-1])
    if min(map(len, parts)) < FEWEST:
        needed = int(np.ceil(FEWEST / min(protocol.split)))
        raise InvalidInput(f"{name} has {len(y)} rows; at least {needed} are needed to split them into four parts.")
    inside, outside, validation, test = parts
    training = np.concatenate([inside, outside])
    refuse_too_many_attributes(sensitive.shape[1], len(training))
    x_scaler = Scaler.fit(x[training], clip=protocol.clip)
    a_scaler = Scaler.fit(sensitive[training], clip=protocol.clip)
    y_scaler = Scaler.fit(y[training])

    def samples(rows: np.ndarray[tuple[int], np.dtype[np.int64]], rows_in: int = 0) -> Samples:
        scaled = (x_scaler.transform(x[rows]), y_scaler.transform(y[rows]), a_scaler.transform(sensitive[rows]))
        return Samples(*scaled, rows_in=rows_in)

    return Problem(name, seed, samples(training, len(inside)), samples(validation), samples(test)), x_scaler

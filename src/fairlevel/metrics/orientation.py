"""Attributes that count up or down alike: random features and knots of splines know no sign of A."""

from __future__ import annotations

import numpy as np

from fairlevel.arrays import Array

_SYMMETRIC = 1e-9  # third moment, of columns within ±1, below which the first row decides


def oriented(values: Array, row_weight: Array) -> Array:
    """A with the sign of each column such that its third central moment is positive, so that A and −A give the same
    figures, to the last digit; shapes (row, attribute), (row,).
    """
    weight = row_weight / row_weight.sum()
    signs = np.array([_sign(column, weight) for column in values.T])
    return values if (signs > 0).all() else values * signs


def _sign(column: Array, weight: Array) -> float:
    centred = column - weight @ column
    largest = np.abs(centred).max(initial=0.0)
    if largest == 0:
        return 1.0
    moment = float(weight @ (centred / largest) ** 3)
    decides = moment if abs(moment) > _SYMMETRIC else float(centred[np.flatnonzero(centred)[0]])
    return 1.0 if decides > 0 else -1.0

"""A ridge for linear models, by leave-one-out."""

from __future__ import annotations

import numpy as np

from fairlevel.arrays import Array

FURTHER_RIDGES = 10.0 ** np.arange(8)
"""Multiples of a ridge that rows which are left out may ask for."""


def leave_one_out_ridge(features: Array, target: Array, row_weight: Array, least: float) -> float:
    """The ridge, from ``least`` on, at which a linear model errs least on rows that are left out one by one; as a
    multiple of the mean second moment of the features. Features may not know the target. Shapes: (row, feature),
    (row,), (row,) with sum 1.
    """
    centred, root = features - row_weight @ features, np.sqrt(row_weight)
    moments, directions = np.linalg.eigh((root[:, None] * centred).T @ (root[:, None] * centred))
    moments = moments.clip(0)
    scale = max(float(moments.mean()) if len(moments) else 0.0, 1e-300)
    scores, away = centred @ directions, target - row_weight @ target
    products, squares = scores.T @ (row_weight * away), scores**2
    ridges = least * FURTHER_RIDGES
    inverse = 1 / (moments[:, None] + ridges * scale)  # (direction, ridge)
    leverage = row_weight[:, None] * (1 + squares @ inverse)
    left_out = (away[:, None] - scores @ (inverse * products[:, None])) / np.maximum(1 - leverage, 1e-12)
    return float(ridges[(row_weight @ left_out**2).argmin()])

"""Where a kernel regression of f on A is evaluated: nodes over the middle of one or two coordinates."""

from __future__ import annotations

import numpy as np

from fairlevel.arrays import Array

_BOX = (0.005, 0.995)  # quantiles of each coordinate between which nodes are laid
_NODES = {1: 200, 2: 32}  # per axis, by the number of coordinates


def middle_nodes(along: Array, coordinates: int, count: int | None = None) -> Array:
    """Nodes over the middle 99 % of the rows on one of several ``coordinates``: (row,) -> (node,)."""
    low, high = np.quantile(along, _BOX)
    grid: Array = np.linspace(low, high, _NODES[coordinates] if count is None else count)
    return grid


def low_dimensional(sensitive: Array, row_weight: Array) -> Array:
    """One or two attributes at unit variance, or two principal components: (row, attribute) -> (row, ≤ 2)."""
    centred = sensitive - row_weight @ sensitive
    if sensitive.shape[1] > 2:
        _, directions = np.linalg.eigh(centred.T @ (row_weight[:, None] * centred))
        leading = directions[:, :-3:-1]
        centred = centred @ (leading * np.sign(leading.sum(axis=0)))
    spread = np.sqrt(row_weight @ centred**2)
    varies = spread > 1e-12
    scaled: Array = centred[:, varies] / spread[varies]
    return scaled

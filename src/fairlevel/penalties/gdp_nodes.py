"""Where GDP lays its nodes: ours, and the two readings of its authors' code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fairlevel.arrays import Array

_BOX = (0.005, 0.995)  # quantiles of each coordinate between which nodes are laid
_NODES = {1: 200, 2: 32}  # per axis, by the number of coordinates
_STEPS = {1: (0.001, 998), 2: (0.05, 18)}  # of the authors' code: first node and distance, nodes per axis


class NodeLayout(Protocol):
    """How attributes are scaled before the kernel sees them, and the nodes along each axis."""

    def scaled(self, points: Array) -> Array:
        """(row, coordinate) of unit variance -> (row, coordinate)."""

    def nodes(self, along: Array, coordinates: int, count: int | None) -> Array:
        """Nodes on an axis of several ``coordinates``, (node,), for the rows' values there, (row,)."""


@dataclass(frozen=True)
class MiddleNodes:
    """Nodes over the middle 99 % of the rows."""

    def scaled(self, points: Array) -> Array:
        return points

    def nodes(self, along: Array, coordinates: int, count: int | None) -> Array:
        low, high = np.quantile(along, _BOX)
        grid: Array = np.linspace(low, high, _NODES[coordinates] if count is None else count)
        return grid


@dataclass(frozen=True)
class AuthorsNodes:
    """The authors' nodes, which lie in (0, 1), for attributes of unit variance: they cover only the positive corner."""

    def scaled(self, points: Array) -> Array:
        return points

    def nodes(self, along: Array, coordinates: int, count: int | None) -> Array:
        step, own = _STEPS[coordinates]
        grid: Array = np.linspace(step, own * step, own if count is None else count)
        return grid


@dataclass(frozen=True)
class AuthorsScale(AuthorsNodes):
    """The same nodes, attributes scaled to [0, 1] as in the authors' data; their bandwidth, which is meant for unit
    variance, then blurs most of what there is.
    """

    def scaled(self, points: Array) -> Array:
        low, high = points.min(axis=0), points.max(axis=0)
        scaled: Array = (points - low) / (high - low)
        return scaled


def low_dimensional(sensitive: Array, row_weight: Array) -> Array:
    """One or two attributes at unit variance, or the first two principal components of more: (row, attribute) -> (row,
    ≤ 2). Directions that do not vary are dropped.
    """
    centred = sensitive - row_weight @ sensitive
    if sensitive.shape[1] > 2:
        _, directions = np.linalg.eigh(centred.T @ (row_weight[:, None] * centred))
        leading = directions[:, :-3:-1]
        centred = centred @ (leading * np.sign(leading.sum(axis=0)))
    spread = np.sqrt(row_weight @ centred**2)
    varies = spread > 1e-12
    scaled: Array = centred[:, varies] / spread[varies]
    return scaled

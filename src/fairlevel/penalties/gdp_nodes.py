"""Where GDP lays its nodes: ours, and the two readings of its authors' code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fairlevel.arrays import Array
from fairlevel.conditional_mean.kernel_nodes import middle_nodes

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
        return middle_nodes(along, coordinates, count)


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

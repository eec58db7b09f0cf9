"""Generalised demographic parity: the mean absolute move of a kernel-smoothed average prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairlevel.arrays import AnyArray, Array, namespace
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.kernel_nodes import low_dimensional, middle_nodes
from fairlevel.exceptions import InvalidInput
from fairlevel.penalties.protocol import Penalty, PenaltyStep, Prepared
from fairlevel.penalties.toolkit import check_positive, row_blocks

_STEPS = {1: (0.001, 998), 2: (0.05, 18)}  # of the authors' code: first node and distance, nodes per axis


@dataclass(frozen=True)
class MiddleNodes:
    """Nodes over the middle 99 % of the rows."""

    def scaled(self, points: Array) -> Array:
        """Points as the kernel sees them: (row, coordinate) of unit variance -> (row, coordinate)."""
        return points

    def nodes(self, along: Array, coordinates: int, count: int | None) -> Array:
        """Nodes on an axis of several ``coordinates``, (node,), for the rows' values there, (row,)."""
        return middle_nodes(along, coordinates, count)


@dataclass(frozen=True)
class AuthorsNodes(MiddleNodes):
    """The authors' nodes, which lie in (0, 1), for attributes of unit variance: they cover only the positive corner."""

    def nodes(self, along: Array, coordinates: int, count: int | None) -> Array:
        step, usual = _STEPS[coordinates]
        grid: Array = np.linspace(step, usual * step, usual if count is None else count)
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


@dataclass(frozen=True)
class KernelNodes(Prepared):
    """Kernels of the rows at the nodes of a grid. A Gaussian kernel is the product of one factor per axis, k_mnj =
    first_mj · second_nj, and only the factors are kept; ``first`` holds the row's weight, too, and is scaled so that
    all k sum to 1.

    Shapes: first (node, row), second (node', row), density π (node, node') = Σ_j k, row_weight (row,).
    """

    first: AnyArray
    second: AnyArray
    density: AnyArray
    row_weight: AnyArray


@dataclass(frozen=True)
class GDP(Penalty):
    r"""Generalised demographic parity (Jiang et al., ICLR 2022), E|h(A) − μ|, with the authors' kernel estimate.

    .. math:: \mathrm{GDP} = \sum_m \pi_m \big|\hat h(g_m) - \bar f\big|, \quad
              \hat h(g_m) = \frac{\sum_j k_b(g_m - a_j) f_j}{\sum_l k_b(g_m - a_l)}, \quad
              \pi_m \propto \sum_j k_b(g_m - a_j), \qquad
              \frac{\partial\, \mathrm{GDP}}{\partial f_j} = \sum_m \operatorname{sign}(\hat h(g_m) - \bar f)
              \Big(\frac{k_b(g_m - a_j)}{\sum_{m'l} k_b(g_{m'} - a_l)} - \frac{\pi_m}{n}\Big)

    with a Gaussian kernel of bandwidth b = multiplier · (n(d+2)/4)^{−1/(d+4)} on attributes of unit variance, and nodes
    g on a grid over the middle 99 % of the rows. The estimate exists for one or two attributes; more are projected to
    their first two principal components, fitted on the rows given here and scaled to unit variance (GDP*).

    Parameters
    ----------
    bandwidth : multiplier of b
    nodes : nodes per axis; None for 200 with one attribute and 32 with two
    layout : where nodes lie: ``MiddleNodes()``, or as in the authors' code ``AuthorsNodes()``, ``AuthorsScale()``
    """

    bandwidth: float = 1.0
    nodes: int | None = None
    layout: MiddleNodes = MiddleNodes()

    name: ClassVar[str] = "gdp"

    def __post_init__(self) -> None:
        check_positive(bandwidth=self.bandwidth)
        if self.nodes is not None and self.nodes < 2:
            raise InvalidInput(f"nodes={self.nodes} was given; at least 2 per axis are needed, such as 32.")

    def prepare(self, attributes: Attributes, seed: int) -> KernelNodes:
        weight = attributes.weight
        points = self.layout.scaled(low_dimensional(attributes.values, weight))
        dimension = max(points.shape[1], 1)
        rule = (float(1 / np.square(weight).sum()) * (dimension + 2) / 4) ** (-1 / (dimension + 4))
        first, second = (self._factor(points, axis, self.bandwidth * rule) for axis in (0, 1))
        first = first * weight
        density = first @ second.T
        total = density.sum()
        if not total > 0:
            raise InvalidInput(f"bandwidth={self.bandwidth} is so small that no row is near a node; take 1.0.")
        return KernelNodes(first / total, second, density / total, weight)

    def step(self, prediction: AnyArray, prepared: KernelNodes, state: None) -> PenaltyStep:
        xp, density = namespace(prediction), prepared.density
        mean = prediction @ prepared.row_weight
        smoothed: AnyArray = 0.0  # Σ_j k f, (config, node, node')
        for rows in row_blocks(prediction.shape[1], prediction):
            smoothed += (prepared.first[:, rows] * prediction[:, None, rows]) @ prepared.second[:, rows].T
        move = smoothed - density * mean[:, None, None]
        rounding = 16 * xp.finfo(prediction.dtype).eps * xp.max(xp.abs(prediction), axis=-1)[:, None, None]
        side = xp.where(xp.abs(move) > rounding * density, xp.sign(move), xp.zeros_like(move))
        gradient = -xp.sum(side * density, axis=(1, 2))[:, None] * prepared.row_weight
        for rows in row_blocks(prediction.shape[1], prediction):
            pulled = xp.matrix_transpose(side) @ prepared.first[:, rows]
            gradient[:, rows] += xp.sum(pulled * prepared.second[:, rows], axis=1)
        return PenaltyStep(xp.sum(xp.abs(move), axis=(1, 2)), gradient)

    def _factor(self, points: Array, axis: int, bandwidth: float) -> Array:
        """exp(−(g − a)² / 2b²) along one axis at its nodes g: (node, row). An axis that points (row, coordinate) do not
        have has one node that sees all rows alike.
        """
        if axis >= points.shape[1]:
            return np.ones((1, len(points)))
        along = points[:, axis]
        grid = self.layout.nodes(along, points.shape[1], self.nodes)
        kernel: Array = np.exp(-np.square(grid[:, None] - along) / (2 * bandwidth**2))
        kernel[kernel < 1e-12] = 0.0  # products of denormal numbers take thirty times as long
        return kernel

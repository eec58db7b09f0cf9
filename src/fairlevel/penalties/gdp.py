"""Generalised demographic parity: the mean absolute move of a kernel-smoothed average prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairlevel.arrays import AnyArray, Array, namespace
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.kernel_nodes import low_dimensional
from fairlevel.exceptions import InvalidInput
from fairlevel.penalties.gdp_nodes import MiddleNodes, NodeLayout
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS, PenaltyStep, RowPlan, Rows, Settings
from fairlevel.penalties.toolkit import PenaltyDefaults, Prepared, check_positive, distinct, position, row_blocks


@dataclass(frozen=True)
class KernelNodes(Prepared):
    """Kernels of the rows at the nodes of a grid, for each of several bandwidths. A Gaussian kernel is the product of
    one factor per axis, k_mnj = first_mj · second_nj, and only the factors are kept; ``first`` holds the row's weight,
    too, and is scaled so that all k sum to 1.

    Shapes: bandwidths (bandwidth,), first (bandwidth, node, row), second (bandwidth, node', row), density π
    (bandwidth, node, node') = Σ_j k, row_weight (row,).
    """

    bandwidths: AnyArray
    first: AnyArray
    second: AnyArray
    density: AnyArray
    row_weight: AnyArray

    def at(self, rows: slice, which: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Both factors of some rows at each configuration's bandwidth: (config, node, row), (config, node', row)."""
        take = namespace(self.first).take
        return take(self.first[:, :, rows], which, axis=0), take(self.second[:, :, rows], which, axis=0)


@dataclass(frozen=True)
class GDP(PenaltyDefaults):
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
    bandwidth : multiplier of b, one number or one per configuration (setting ``bandwidth``)
    nodes : nodes per axis; None for 200 with one attribute and 32 with two
    layout : where nodes lie: ``MiddleNodes()``, or as in the authors' code ``AuthorsNodes()``, ``AuthorsScale()``
    """

    bandwidth: float = 1.0
    nodes: int | None = None
    layout: NodeLayout = MiddleNodes()
    rows: RowPlan = ALL_TRAINING_ROWS

    name: ClassVar[str] = "gdp"
    tunable: ClassVar[tuple[str, ...]] = ("bandwidth",)

    def __post_init__(self) -> None:
        check_positive(bandwidth=self.bandwidth)
        if self.nodes is not None and self.nodes < 2:
            raise InvalidInput(f"nodes={self.nodes} was given; at least 2 per axis are needed, such as 32.")

    def prepare(self, attributes: Attributes, rows: Rows, settings: Settings, seed: int) -> KernelNodes:
        known = distinct(self, settings, "bandwidth")
        weight = attributes.weight
        points = self.layout.scaled(low_dimensional(attributes.values, weight))
        dimension = max(points.shape[1], 1)
        rule = (float(1 / np.square(weight).sum()) * (dimension + 2) / 4) ** (-1 / (dimension + 4))
        first, second = (self._factor(points, axis, known * rule) for axis in (0, 1))
        first = first * weight
        density = first @ np.swapaxes(second, 1, 2)
        total = density.sum(axis=(1, 2), keepdims=True)
        if not (total > 0).all():
            raise InvalidInput(f"bandwidth={float(known.min())} is so small that no row is near a node; take 1.0.")
        return KernelNodes(known, first / total, second, density / total, weight)

    def init(self, prepared: KernelNodes, configs: int, settings: Settings) -> AnyArray:
        """Which of the bandwidths each configuration uses, (config,)."""
        return position(self, settings, "bandwidth", prepared.bandwidths, configs)

    def step(self, prediction: AnyArray, prepared: KernelNodes, state: AnyArray) -> PenaltyStep:
        xp = namespace(prediction)
        mean = prediction @ prepared.row_weight
        density = prepared.density[state]
        smoothed = xp.zeros_like(density)  # Σ_j k f, (config, node, node')
        for rows in row_blocks(prediction):
            first, second = prepared.at(rows, state)
            smoothed += (first * prediction[:, None, rows]) @ xp.matrix_transpose(second)
        move = smoothed - density * mean[:, None, None]
        rounding = 16 * xp.finfo(prediction.dtype).eps * xp.max(xp.abs(prediction), axis=-1)[:, None, None]
        side = xp.where(xp.abs(move) > rounding * density, xp.sign(move), xp.zeros_like(move))
        gradient = -xp.sum(side * density, axis=(1, 2))[:, None] * prepared.row_weight
        for rows in row_blocks(prediction):
            first, second = prepared.at(rows, state)
            gradient[:, rows] += xp.sum((xp.matrix_transpose(side) @ first) * second, axis=1)
        return PenaltyStep(xp.sum(xp.abs(move), axis=(1, 2)), gradient, state)

    def _factor(self, points: Array, axis: int, bandwidths: Array) -> Array:
        """exp(−(g − a)² / 2b²) along one axis at its nodes g: (bandwidth, node, row). An axis that points (row,
        coordinate) do not have has one node that sees all rows alike.
        """
        if axis >= points.shape[1]:
            return np.ones((len(bandwidths), 1, len(points)))
        along = points[:, axis]
        grid = self.layout.nodes(along, points.shape[1], self.nodes)
        kernel: Array = np.exp(-np.square(grid[:, None] - along) / (2 * np.square(bandwidths)[:, None, None]))
        kernel[kernel < 1e-12] = 0.0  # products of denormal numbers take thirty times as long
        return kernel

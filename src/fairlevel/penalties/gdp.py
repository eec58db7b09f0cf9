"""Generalised demographic parity: the mean absolute move of a kernel-smoothed average prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.kernel_nodes import low_dimensional
from fairlevel.exceptions import InvalidInput
from fairlevel.networks.blocks import row_blocks
from fairlevel.penalties.gdp_nodes import MiddleNodes, NodeLayout
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS, PenaltyStep, RowPlan, Rows, Settings
from fairlevel.penalties.toolkit import PenaltyDefaults, Prepared, check_positive, distinct, position, without_tiny


@dataclass(frozen=True)
class KernelNodes(Prepared):
    """Kernels of the rows at the nodes of a grid, for each of several bandwidths. A Gaussian kernel is the product of
    one factor per axis, k_mnj = first_mj · second_nj, and only the factors are kept; ``first`` holds the row's weight,
    too, and is scaled so that all k sum to 1.

    Shapes: bandwidths (bandwidth,), first (bandwidth, node, row), second (bandwidth, node', row), density π
    (bandwidth, node, node') = Σ_j k, row_weight (row,).
    """

    bandwidths: Tensor
    first: Tensor
    second: Tensor
    density: Tensor
    row_weight: Tensor

    def at(self, rows: slice, which: Tensor) -> tuple[Tensor, Tensor]:
        """Both factors of some rows at each configuration's bandwidth: (config, node, row), (config, node', row)."""
        return self.first[:, :, rows].index_select(0, which), self.second[:, :, rows].index_select(0, which)


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
        weight = torch.from_numpy(attributes.weight)
        points = self.layout.scaled(low_dimensional(attributes.values, attributes.weight))
        dimension = max(points.shape[1], 1)
        rule = (float(1 / weight.square().sum()) * (dimension + 2) / 4) ** (-1 / (dimension + 4))
        first, second = (self._factor(points, axis, known * rule) for axis in (0, 1))
        first = first * weight
        density = first @ second.transpose(1, 2)
        total = density.sum(dim=(1, 2), keepdim=True)
        if not (total > 0).all():
            raise InvalidInput(f"bandwidth={float(known.min())} is so small that no row is near a node; take 1.0.")
        return KernelNodes(known, first / total, second, density / total, weight)

    def init(self, prepared: KernelNodes, configs: int, settings: Settings) -> Tensor:
        """Which of the bandwidths each configuration uses, (config,)."""
        where = position(self, settings, "bandwidth", prepared.bandwidths, configs)
        return where.to(prepared.density.device)

    def step(self, prediction: Tensor, prepared: KernelNodes, state: Tensor) -> PenaltyStep:
        mean = (prediction * prepared.row_weight).sum(dim=-1, keepdim=True)
        density = prepared.density[state]
        smoothed = torch.zeros_like(density)  # Σ_j k f, (config, node, node')
        for rows in row_blocks(prediction.shape[1], prediction.device):
            first, second = prepared.at(rows, state)
            smoothed.baddbmm_(first.mul_(prediction[:, None, rows]), second.transpose(1, 2))
        move = smoothed - density * mean.unsqueeze(-1)
        rounding = 16 * torch.finfo(prediction.dtype).eps * prediction.abs().amax(dim=-1).view(-1, 1, 1)
        side = torch.where(move.abs() > rounding * density, move.sign(), 0)
        gradient = -(side * density).sum(dim=(1, 2)).unsqueeze(1) * prepared.row_weight
        for rows in row_blocks(prediction.shape[1], prediction.device):
            first, second = prepared.at(rows, state)
            gradient[:, rows] += torch.bmm(side.transpose(1, 2), first).mul_(second).sum(dim=1)
        return PenaltyStep(move.abs().sum(dim=(1, 2)), gradient, state)

    def _factor(self, points: Array, axis: int, bandwidths: Tensor) -> Tensor:
        """exp(−(g − a)² / 2b²) along one axis at its nodes g: (bandwidth, node, row). An axis that points (row,
        coordinate) do not have has one node that sees all rows alike.
        """
        if axis >= points.shape[1]:
            return torch.ones(len(bandwidths), 1, len(points), dtype=torch.float64)
        along = points[:, axis]
        grid = torch.from_numpy(self.layout.nodes(along, points.shape[1], self.nodes))
        distance = (grid[:, None] - torch.from_numpy(along)).square()
        return without_tiny(torch.exp(-distance / (2 * bandwidths.square()[:, None, None])))

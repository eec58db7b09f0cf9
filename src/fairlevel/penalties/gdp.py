"""Generalised demographic parity: the mean absolute move of a kernel-smoothed average prediction."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fairlevel.exceptions import InvalidInput
from fairlevel.penalties.protocol import (
    ALL_TRAINING_ROWS,
    Array,
    PenaltyStep,
    RowPlan,
    Rows,
    Settings,
    check_positive,
    distinct,
    position,
    row_weights,
)
from fairlevel.stacked.moving import moved

_BOX = (0.005, 0.995)  # quantiles of each coordinate between which nodes are laid
_NODES = {1: 200, 2: 32}  # an axis, by the number of coordinates


@dataclass(frozen=True)
class KernelNodes:
    """Kernel weights of the rows at the nodes, for each of several bandwidths.

    Shapes: bandwidths (bandwidth,), weights W (bandwidth, node, row) summing to 1 over rows, density π (bandwidth,
    node) summing to 1 over nodes, row_weight (row,).
    """

    bandwidths: Tensor
    weights: Tensor
    density: Tensor
    row_weight: Tensor

    def to(self, dtype: torch.dtype, device: torch.device | str) -> KernelNodes:
        return moved(self, dtype, device)


@dataclass(frozen=True)
class GDP:
    r"""Generalised demographic parity (Jiang et al., ICLR 2022), E|h(A) − μ|, with the authors' kernel estimate.

    .. math:: \mathrm{GDP} = \sum_m \pi_m \big|\hat h(g_m) - \bar f\big|, \quad
              \hat h(g_m) = \sum_j W_{mj} f_j, \quad
              W_{mj} = \frac{k_b(g_m - a_j)}{\sum_l k_b(g_m - a_l)}, \quad
              \pi_m \propto \sum_j k_b(g_m - a_j), \qquad
              \frac{\partial\, \mathrm{GDP}}{\partial f_j} = \sum_m \pi_m \operatorname{sign}(\hat h(g_m) - \bar f)
              \big(W_{mj} - \tfrac1n\big)

    with a Gaussian kernel of bandwidth b = multiplier · (n(d+2)/4)^{−1/(d+4)} on attributes of unit variance, and nodes
    g on a grid over the middle 99 % of the rows. The estimate exists for one or two attributes; more are projected to
    their first two principal components, fitted on the rows given here and scaled to unit variance (GDP*).

    Parameters
    ----------
    bandwidth : multiplier of b, one number or one a configuration (setting ``bandwidth``)
    nodes : nodes an axis; None for 200 with one attribute and 32 with two
    """

    bandwidth: float = 1.0
    nodes: int | None = None
    rows: RowPlan = ALL_TRAINING_ROWS

    name: ClassVar[str] = "gdp"
    tunable: ClassVar[tuple[str, ...]] = ("bandwidth",)
    company: ClassVar[int | None] = 2
    quadratic: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_positive(bandwidth=self.bandwidth)
        if self.nodes is not None and self.nodes < 2:
            raise InvalidInput(f"nodes={self.nodes} was given; at least 2 an axis are needed, such as 32.")

    def curvature(self, weight: Tensor) -> Tensor:
        return 1 + weight

    def prepare(
        self, sensitive: Array, rows: Rows, settings: Settings, seed: int, sample_weight: Array | None = None
    ) -> KernelNodes:
        known = distinct(self, settings, "bandwidth")
        weight = row_weights(sample_weight, len(sensitive))
        points = torch.from_numpy(low_dimensional(sensitive, weight.numpy()))
        nodes = torch.from_numpy(_grid(points.numpy(), self.nodes))
        dimension = max(points.shape[1], 1)
        rule = (float(1 / weight.square().sum()) * (dimension + 2) / 4) ** (-1 / (dimension + 4))
        distance = torch.cdist(nodes, points).square()
        logs = weight.log() - distance / (2 * (known * rule).square()[:, None, None])
        density = torch.logsumexp(logs, dim=-1).softmax(dim=-1)
        return KernelNodes(known, logs.softmax(dim=-1), density, weight)

    def init(self, prepared: KernelNodes, configs: int, settings: Settings) -> dict[int, Tensor]:
        """For each bandwidth in use, which configurations use it: (config, 1)."""
        where = position(self, settings, "bandwidth", prepared.bandwidths, configs)
        device = prepared.weights.device
        return {number: (where == number).unsqueeze(1).to(device) for number in sorted(set(where.tolist()))}

    def step(self, prediction: Tensor, prepared: KernelNodes, state: dict[int, Tensor]) -> PenaltyStep:
        mean = (prediction * prepared.row_weight).sum(dim=-1, keepdim=True)
        value, gradient = torch.zeros_like(mean), torch.zeros_like(prediction)
        rounding = 16 * torch.finfo(prediction.dtype).eps * prediction.abs().amax(dim=-1, keepdim=True)
        for number, chosen in state.items():  # every product has the shape of the tile: neighbours change no bit
            weights, density = prepared.weights[number], prepared.density[number]
            move = prediction @ weights.T - mean
            push = density * torch.where(move.abs() > rounding, move.sign(), 0)
            pulled = push @ weights - push.sum(dim=-1, keepdim=True) * prepared.row_weight
            value = torch.where(chosen, (density * move.abs()).sum(dim=-1, keepdim=True), value)
            gradient = torch.where(chosen, pulled, gradient)
        return PenaltyStep(value.squeeze(1), gradient, state)

    def value(self, prediction: Tensor, prepared: KernelNodes, state: dict[int, Tensor]) -> Tensor:
        """The same estimate; on few rows noise holds it above zero."""
        return self.step(prediction, prepared, state).value


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


def _grid(points: Array, nodes: int | None) -> Array:
    """A Cartesian grid over the middle 99 % of each coordinate: (node, coordinate)."""
    dimension = points.shape[1]
    if dimension == 0:
        return np.zeros((1, 0))
    count = _NODES[dimension] if nodes is None else nodes
    low, high = np.quantile(points, _BOX, axis=0)
    axes = np.linspace(low, high, count).T
    return np.array(list(product(*axes)))

"""The χ² bound of HGR, from a kernel density estimate of the prediction and one attribute at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel.networks.backend import PreparedTensors, on_tensors
from fairlevel.networks.standardised import standardised, through_standardising
from fairlevel.penalties.protocol import Penalty, PenaltyStep
from fairlevel.penalties.toolkit import check_positive, row_blocks

_EDGE = 2.5  # nodes lie between −2.5 and 2.5 standard deviations
_EMPTY = 1e-10  # density of a node that no row is near; divisions stay finite


@dataclass(frozen=True)
class DensityRows(PreparedTensors):
    """Kernels of the attributes at the nodes of their axis.

    Shapes: width b, kernels w_i k_b(g_n − a_i) / b (attribute · node, row), permuted the same with the rows of A
    permuted, nodes g (node,), row_weight (row,).
    """

    width: float
    kernels: Tensor
    permuted: Tensor
    nodes: Tensor
    row_weight: Tensor


class Density(NamedTuple):
    """χ² (config,) and its slope in the joint densities, (config, attribute, node, node')."""

    value: Tensor
    slope: Tensor


@dataclass(frozen=True)
class ChiSquareHGR(Penalty):
    r"""The χ² divergence between the joint density of f and A and the product of its margins (Mary, Calauzènes &
    El Karoui, ICML 2019): an upper bound of the squared HGR correlation.

    .. math:: \chi^2 = \sum_{mn} \frac{p_{mn}^2}{p_{m\cdot}\, p_{\cdot n}} - 1 \ge \mathrm{HGR}^2, \qquad
              p_{mn} \propto \sum_i w_i\, k_b(g_m - u_i)\, k_b(g_n - a_i)

    with u the standardised prediction, a Gaussian kernel of bandwidth b = multiplier · n^{−1/6} and nodes g from −2.5
    to 2.5. The gradient goes through p and the standardising:

    .. math:: \frac{\partial \chi^2}{\partial u_i} = w_i \sum_{mn} \frac{\partial \chi^2}{\partial p_{mn}}\,
              \frac{g_m - u_i}{b^2}\, k_b(g_m - u_i)\, k_b(g_n - a_i), \qquad
              \frac{\partial \chi^2}{\partial p_{mn}} = \frac{2 p_{mn}}{p_{m\cdot} p_{\cdot n}} -
              \sum_{n'} \frac{p_{mn'}^2}{p_{m\cdot}^2 p_{\cdot n'}} -
              \sum_{m'} \frac{p_{m'n}^2}{p_{m'\cdot} p_{\cdot n}^2}

    For a Gaussian pair χ² = ρ²/(1 − ρ²). The kernel blurs ρ to ρ/(1 + b²), and the nodes leave out the tails, which
    count most: with ρ = 0.6 and n = 5000 the estimate is 0.37, not 0.56. P is multiplied by Var u, which is 1 unless f
    spreads less than 0.05.

    The estimate is made for one attribute. With several, P is the mean over them, which does not see dependence on
    combinations of attributes; :class:`KernelHGR`, :class:`HSIC` and :class:`ClosedFBO` do.

    Parameters
    ----------
    bandwidth : multiplier of b
    nodes : per axis; None for 5/b, at most 50, as the authors
    """

    bandwidth: float = 1.0
    nodes: int | None = None

    name: ClassVar[str] = "hgr_chi2"

    def __post_init__(self) -> None:
        check_positive(bandwidth=self.bandwidth)
        if self.nodes is not None and (not isinstance(self.nodes, int) or self.nodes < 5):
            raise InvalidInput(f"nodes={self.nodes} was given; a whole number ≥ 5 is needed, such as 20.")

    def prepare(self, attributes: Attributes, seed: int) -> DensityRows:
        weight = torch.from_numpy(attributes.weight)
        rule = float((1 / weight.square().sum()) ** (-1 / 6))
        count = self.nodes or int(min(50, max(5, 2 * _EDGE / rule)))
        nodes = torch.linspace(-_EDGE, _EDGE, count, dtype=torch.float64)
        values = torch.from_numpy(attributes.values)
        centred = values - weight @ values
        spread = (weight @ centred.square()).sqrt()
        points = (centred[:, spread > 1e-12] / spread[spread > 1e-12]).T  # (attribute, row)
        width = self.bandwidth * rule
        kernels = _kernel((nodes[:, None] - points[:, None, :]) / width, width) * weight
        order = torch.from_numpy(np.random.default_rng(seed).permutation(len(weight)))
        permuted = kernels[..., order] / weight[order].clamp_min(1e-300) * weight
        return DensityRows(width, kernels.flatten(0, 1), permuted.flatten(0, 1), nodes, weight)

    @on_tensors
    def step(self, prediction: Tensor, prepared: DensityRows, state: None) -> PenaltyStep:
        u, weight = standardised(prediction, prepared.row_weight), prepared.row_weight
        found = self._divergence(u.value, prepared.kernels, prepared)
        spread = (weight * u.value.square()).sum(dim=-1)
        gradient = 2 * weight * u.value * found.value.unsqueeze(1)
        slope = found.slope.transpose(2, 3).flatten(1, 2)  # (config, attribute · node', node)
        width = prepared.width
        for rows in row_blocks(prediction.shape[1], prediction):
            toward = (prepared.nodes[:, None] - u.value[:, None, rows]) / width
            own = _kernel(toward, width) * toward / width
            pulled = slope.transpose(1, 2) @ prepared.kernels[:, rows]
            gradient[:, rows] += spread.unsqueeze(1) * (own * pulled).sum(dim=1)
        return PenaltyStep(spread * found.value, through_standardising(gradient, u, weight))

    @on_tensors
    def value(self, prediction: Tensor, prepared: DensityRows, state: None) -> Tensor:
        """Less the same estimate with the rows of A permuted: zero on average where f and A are independent."""
        u = standardised(prediction, prepared.row_weight).value
        spread = (prepared.row_weight * u.square()).sum(dim=-1)
        here, without = (
            self._divergence(u, kernels, prepared).value for kernels in (prepared.kernels, prepared.permuted)
        )
        return spread * (here - without)

    def _divergence(self, u: Tensor, kernels: Tensor, prepared: DensityRows) -> Density:
        """χ² averaged over attributes, and its slope in Σ_i w_i k_b(g_m − u_i) k_b(g_n − a_i)."""
        nodes, width = len(prepared.nodes), prepared.width
        joint = u.new_zeros(len(u), len(kernels), nodes)
        for rows in row_blocks(u.shape[1], u):
            own = _kernel((prepared.nodes[:, None] - u[:, None, rows]) / width, width)
            joint += kernels[:, rows] @ own.transpose(1, 2)
        count = len(kernels) // nodes
        if count == 0:
            return Density(u.new_zeros(len(u)), u.new_zeros(len(u), 0, nodes, nodes))
        p = joint.view(len(u), count, nodes, nodes).transpose(2, 3)  # (config, attribute, node, node')
        total = p.sum(dim=(2, 3), keepdim=True)
        p = p / total
        first, second = p.sum(dim=3, keepdim=True) + _EMPTY, p.sum(dim=2, keepdim=True) + _EMPTY
        apart, ratio = p - first * second, p / first / second
        value = (apart.square() / first / second).sum(dim=(2, 3)) + 1 - (1 + nodes * _EMPTY) ** 2  # Σp²/q − 1, stably
        square = ratio * p
        slope = 2 * ratio - square.sum(dim=3, keepdim=True) / first - square.sum(dim=2, keepdim=True) / second
        slope = slope - (slope * p).sum(dim=(2, 3), keepdim=True)
        return Density(value.mean(dim=1), slope / (total * count))


def _kernel(scaled: Tensor, width: float) -> Tensor:
    """exp(−x²/2) / b, and 0 where that is nothing."""
    kernel = torch.exp(-0.5 * scaled.square())
    return torch.where(kernel < 1e-12, 0.0, kernel) / width  # denormal numbers take thirty times as long

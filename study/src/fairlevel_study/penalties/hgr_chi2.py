"""The χ² bound of HGR, from a kernel density estimate of the prediction and one attribute at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel.networks.backend import PreparedTensors
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS, RowPlan, Rows, Settings
from fairlevel.penalties.toolkit import PenaltyDefaults, check_positive, distinct, position
from fairlevel_study.penalties.differentiated import Dependence

_EDGE = 2.5  # nodes lie between −2.5 and 2.5 standard deviations
_EMPTY = 1e-10  # density of a node that no row is near; divisions stay finite


@dataclass(frozen=True)
class DensityRows(PreparedTensors):
    """Kernels of the attributes at the nodes of their axis, for each of several bandwidths.

    Shapes: bandwidths (bandwidth,), width b (bandwidth,), kernels w_i k_b(g_n − a_i) / b (bandwidth, attribute · node,
    row), permuted the same with the rows of A permuted, nodes g (node,), row_weight (row,).
    """

    bandwidths: Tensor
    width: Tensor
    kernels: Tensor
    permuted: Tensor
    nodes: Tensor
    row_weight: Tensor


@dataclass(frozen=True)
class ChiSquareHGR(Dependence, PenaltyDefaults):
    r"""The χ² divergence between the joint density of f and A and the product of its margins (Mary, Calauzènes &
    El Karoui, ICML 2019): an upper bound of the squared HGR correlation.

    .. math:: \chi^2 = \sum_{mn} \frac{p_{mn}^2}{p_{m\cdot}\, p_{\cdot n}} - 1 \ge \mathrm{HGR}^2, \qquad
              p_{mn} \propto \sum_i w_i\, k_b(g_m - u_i)\, k_b(g_n - a_i)

    with u the standardised prediction, a Gaussian kernel of bandwidth b = multiplier · n^{−1/6} and nodes g from −2.5
    to 2.5.

    For a Gaussian pair χ² = ρ²/(1 − ρ²). The kernel blurs ρ to ρ/(1 + b²), and the nodes leave out the tails, which
    count most: with ρ = 0.6 and n = 5000 the estimate is 0.37, not 0.56. With several attributes P is the mean over
    them, which does not see dependence on combinations; :class:`KernelHGR` and :class:`ClosedFBO` do.
    """

    bandwidth: float = 1.0  # multiplier of b
    nodes: int | None = None  # per axis; None for 5/b, at most 50, as the authors
    rows: RowPlan = ALL_TRAINING_ROWS

    name: ClassVar[str] = "hgr_chi2"
    tunable: ClassVar[tuple[str, ...]] = ("bandwidth",)

    def __post_init__(self) -> None:
        check_positive(bandwidth=self.bandwidth)
        if self.nodes is not None and (not isinstance(self.nodes, int) or self.nodes < 5):
            raise InvalidInput(f"nodes={self.nodes} was given; a whole number ≥ 5 is needed, such as 20.")

    def prepare(self, attributes: Attributes, rows: Rows, settings: Settings, seed: int) -> DensityRows:
        known = torch.from_numpy(distinct(self, settings, "bandwidth"))
        weight = torch.from_numpy(attributes.weight)
        rule = float((1 / weight.square().sum()) ** (-1 / 6))
        count = self.nodes or int(min(50, max(5, 2 * _EDGE / rule)))
        nodes = torch.linspace(-_EDGE, _EDGE, count, dtype=torch.float64)
        values = torch.from_numpy(attributes.values)
        centred = values - weight @ values
        spread = (weight @ centred.square()).sqrt()
        points = (centred[:, spread > 1e-12] / spread[spread > 1e-12]).T  # (attribute, row)
        width = (known * rule)[:, None, None, None]
        kernels = _kernel((nodes[:, None] - points[:, None, :]) / width, width) * weight
        order = torch.from_numpy(np.random.default_rng(seed).permutation(len(weight)))
        permuted = kernels[..., order] / weight[order].clamp_min(1e-300) * weight
        return DensityRows(known, known * rule, kernels.flatten(1, 2), permuted.flatten(1, 2), nodes, weight)

    def init(self, prepared: DensityRows, configs: int, settings: Settings) -> Tensor:
        """Which of the bandwidths each configuration uses, (config,)."""
        which: Tensor = position(self, settings, "bandwidth", prepared.bandwidths, configs)
        return which

    def dependence(self, u: Tensor, prepared: DensityRows, state: Tensor) -> tuple[Tensor, Tensor]:
        return self._divergence(u, prepared.kernels, prepared, state), state

    def held_out(self, u: Tensor, prepared: DensityRows, state: Tensor) -> Tensor:
        """Less the same estimate with the rows of A permuted: zero on average where f and A are independent."""
        here, without = (
            self._divergence(u, kernels, prepared, state) for kernels in (prepared.kernels, prepared.permuted)
        )
        return here - without

    def _divergence(self, u: Tensor, kernels: Tensor, prepared: DensityRows, state: Tensor) -> Tensor:
        """χ², (config,), averaged over attributes."""
        nodes, width = len(prepared.nodes), prepared.width[state][:, None, None]
        attributes = kernels.shape[1] // nodes
        near = _kernel((prepared.nodes[:, None] - u[:, None]) / width, width)  # (config, node, row)
        joint = torch.bmm(kernels.index_select(0, state), near.transpose(1, 2))
        p = joint.view(len(u), attributes, nodes, nodes)  # (config, attribute, node', node)
        p = p / p.sum(dim=(2, 3), keepdim=True)
        first, second = p.sum(dim=3, keepdim=True) + _EMPTY, p.sum(dim=2, keepdim=True) + _EMPTY
        apart = (p - first * second).square() / first / second
        value = apart.sum(dim=(2, 3)) + 1 - (1 + nodes * _EMPTY) ** 2  # Σp²/q − 1, stably
        return value.sum(dim=1) / max(attributes, 1)


def _kernel(scaled: Tensor, width: Tensor) -> Tensor:
    """exp(−x²/2) / b, and 0 where that is nothing."""
    kernel = torch.exp(-0.5 * scaled.square())
    return torch.where(kernel < 1e-12, 0.0, kernel) / width  # denormal numbers take thirty times as long

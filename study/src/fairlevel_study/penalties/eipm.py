"""EIPM: how far the distribution of predictions given A is from that of all predictions, on average over A."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.kernel_nodes import low_dimensional
from fairlevel.exceptions import InvalidInput
from fairlevel.networks.backend import PreparedTensors, on_tensors
from fairlevel.penalties.toolkit import check_positive
from fairlevel_study.penalties.differentiated import Differentiated

_ROUNDING = 1e-12  # below the root: it has a slope where a distribution is that of all predictions
_FREQUENCIES, _HIGHEST = 20, 6.2  # of the kernel of f: their number, and the end of the last one's cell


@dataclass(frozen=True)
class KernelAnchors(PreparedTensors):
    """How much each row differs from the average row around some anchors.

    Shapes: contrast W − w (anchor, row), anchor_weight π (anchor,), frequencies and amplitudes of the kernel of f
    (frequency,), row_weight w (row,).
    """

    contrast: Tensor
    anchor_weight: Tensor
    frequencies: Tensor
    amplitudes: Tensor
    row_weight: Tensor


@dataclass(frozen=True)
class EIPM(Differentiated):
    r"""Expected integral probability metric (Kong, Kim & Kim, 2025), with the maximum mean discrepancy as the metric
    and the prediction as the representation.

    .. math:: P = \sum_m \pi_m d_m, \qquad d_m^2 = \sum_{ij} (W_{mi} - w_i) (W_{mj} - w_j)\, k(f_i, f_j), \qquad
              W_{mi} = \frac{w_i k_b(a_m - a_i)}{\sum_l w_l k_b(a_m - a_l)}

    with Gaussian kernels. The anchors a_m are the rows, or ``anchors`` of them, spread evenly. k is a sum of cosines of
    equally spaced frequencies, equal to the Gaussian kernel to 1e-7 for |f − f'| ≤ 14 σ_f: a step takes
    O(n · anchors · 40), not O(n³). b = multiplier · (n(d+2)/4)^{−1/(d+4)} as for :class:`GDP`, and more than two
    attributes are projected to their first two principal components, as there.

    The whole distribution counts, as with HSIC, but a unit of distance is a root, so the gradient does not fade near
    independence, where P is about √(mean(1 − k) / rows near an anchor). With a large σ_f, σ_f · P tends to
    Σ_m π_m |ĥ(a_m) − f̄|, the mean absolute move of the average prediction.
    """

    bandwidth: float = 1.0  # σ_f in standard deviations of y
    sensitive_bandwidth: float = 1.0  # multiplier of b
    anchors: int = 128  # at most

    name: ClassVar[str] = "eipm"

    def __post_init__(self) -> None:
        check_positive(bandwidth=self.bandwidth, sensitive_bandwidth=self.sensitive_bandwidth)
        if not isinstance(self.anchors, int) or self.anchors < 2:
            raise InvalidInput(f"anchors={self.anchors} was given; a whole number ≥ 2 is needed, such as 128.")

    def prepare(self, attributes: Attributes, seed: int) -> KernelAnchors:
        weight = attributes.weight
        points = low_dimensional(attributes.values, weight)
        chosen = _anchors(points, self.anchors)
        dimension = points.shape[1]
        b = self.sensitive_bandwidth * ((dimension + 2) / 4 / (weight**2).sum()) ** (-1 / (dimension + 4))
        distance = torch.from_numpy(((points[chosen, None] - points[None]) ** 2).sum(axis=-1))
        log_weight = torch.from_numpy(np.log(np.maximum(weight, 1e-300)))
        near = torch.softmax(log_weight - distance / (2 * b**2), dim=-1)
        frequencies, amplitudes = gaussian_kernel_as_cosines()
        return KernelAnchors(
            near - torch.from_numpy(weight),
            torch.from_numpy(weight[chosen] / weight[chosen].sum()),
            frequencies / self.bandwidth,
            amplitudes,
            torch.from_numpy(weight),
        )

    def measured(self, prediction: Tensor, prepared: KernelAnchors, state: None) -> tuple[Tensor, None]:
        square = _squares(_waves(prediction, prepared), prepared)
        return ((square + _ROUNDING).sqrt() - _ROUNDING**0.5) @ prepared.anchor_weight, None

    @on_tensors
    def value(self, prediction: Tensor, prepared: KernelAnchors, state: None) -> Tensor:
        """Each d² less what independence would leave of it, Σ_i (W_i − w_i)² times mean(1 − k), before the root."""
        waves = _waves(prediction, prepared)
        spread = 1 - (prepared.row_weight @ waves).square().sum(dim=-1, keepdim=True)
        floor = spread * prepared.contrast.square().sum(dim=-1)
        excess = _squares(waves, prepared) - floor
        return (excess.sign() * excess.abs().sqrt()) @ prepared.anchor_weight


def _waves(prediction: Tensor, prepared: KernelAnchors) -> Tensor:
    """z(f) with k(f, f') = z(f)ᵀz(f'), (config, row, wave)."""
    turns = prediction.unsqueeze(-1) * prepared.frequencies
    return torch.cat([turns.cos(), turns.sin()], dim=-1) * prepared.amplitudes.sqrt().repeat(2)


def _squares(waves: Tensor, prepared: KernelAnchors) -> Tensor:
    """d_m² = |Σ_i (W_mi − w_i) z(f_i)|², (config, anchor)."""
    return (prepared.contrast @ waves).square().sum(dim=-1)


def gaussian_kernel_as_cosines() -> tuple[Tensor, Tensor]:
    """ω_q > 0 and p_q with exp(−u²/2) = Σ_q p_q cos(ω_q u) by the midpoint rule, for |u| well below 2π over the
    distance of two frequencies; each (frequency,).
    """
    distance = _HIGHEST / _FREQUENCIES
    frequencies = distance * (torch.arange(_FREQUENCIES, dtype=torch.float64) + 0.5)
    density = torch.exp(-frequencies.square() / 2)
    return frequencies, density / density.sum()


def _anchors(points: Array, most: int) -> Index:
    """Rows around which distributions are compared: all, or ``most`` of them, spread evenly over points (row, ≤ 2)."""
    rows = len(points)
    if rows <= most or not points.shape[1]:
        return np.arange(min(rows, most))
    strips = round(most**0.5) if points.shape[1] == 2 else 1
    strip = points[:, 0].argsort().argsort() * strips // rows
    order = np.lexsort((points[:, -1], strip))
    chosen: Index = order[((np.arange(most) + 0.5) * rows / most).astype(int)]
    return chosen

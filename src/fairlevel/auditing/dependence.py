"""Other measures beside DPVar, each with its value under random pairings of predictions and attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.auditing.pairings import Pairings
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.protocol import standardiser
from fairlevel.metrics.choice import general_mean
from fairlevel.penalties import GDP, FeatureHSIC, LinearR2

PERMUTATIONS = 99
_DEGREE = 3  # powers of the prediction that maximal correlation may use
_RIDGE = 1e-3
_BLOCK = 128  # rows at a time, whose kernels stay in cache
_NEGLIGIBLE = 1e-12  # of the largest eigenvalue; directions below it are left out


@dataclass(frozen=True)
class Measure:
    """A measure of dependence: its value, the value that 95 % of random pairings of A with the predictions stay below,
    and what it responds to.
    """

    name: str
    value: float
    chance: float
    sees: str

    @property
    def found(self) -> bool:
        """Whether the value is more than chance shows."""
        return self.value > self.chance


Values = Callable[[Pairings, Attributes, int], Tensor]
"""(pairings, attributes, seed) -> the measure under each pairing, (pairing,)."""


def linear_r2(pairings: Pairings, attributes: Attributes, seed: int) -> Tensor:
    """R² of a linear regression on A; see :class:`LinearR2`."""
    penalty = LinearR2()
    prepared = penalty.prepare(attributes, penalty.rows.assign(0, len(attributes)), {}, seed)
    parts = torch.split(pairings.predictions, 10)
    return torch.cat([penalty.step(part, prepared, penalty.init(prepared, len(part), {})).value for part in parts])


def gdp(pairings: Pairings, attributes: Attributes, seed: int) -> Tensor:
    """Generalised demographic parity, Σ_m |Σ_j k_mj f_j − π_m f̄|; see :class:`GDP`."""
    penalty = GDP()
    nodes = penalty.prepare(attributes, penalty.rows.assign(0, len(attributes)), {}, seed)
    predictions, density = pairings.predictions, nodes.density[0]
    smoothed = predictions.new_zeros(len(predictions), density.numel())
    for start in range(0, len(attributes), _BLOCK):
        part = slice(start, start + _BLOCK)
        kernel = nodes.first[0, :, None, part] * nodes.second[0, None, :, part]  # (node, node', row)
        smoothed.addmm_(predictions[:, part], kernel.flatten(0, 1).T)
    mean = predictions @ nodes.row_weight
    return (smoothed - mean.unsqueeze(1) * density.flatten()).abs().sum(dim=1)


def hsic(pairings: Pairings, attributes: Attributes, seed: int) -> Tensor:
    r"""HSIC by random features, ‖Z_fᵀ H Z_A‖² / n²; see :class:`FeatureHSIC`.

    The features of f are functions of one number and nearly collinear. They are replaced by their principal components,
    which changes no norm; those with a share below 1e-12 are left out.
    """
    penalty = FeatureHSIC()
    prepared = penalty.prepare(attributes, penalty.rows.assign(0, len(attributes)), {}, seed)
    angles = pairings.prediction.unsqueeze(1) * (prepared.frequencies / penalty.bandwidth) + prepared.phases
    components = _principal((2 / penalty.features) ** 0.5 * angles.cos_())
    return pairings.sums(components, prepared.features[0]).square().sum(dim=(1, 2))


def maximal_correlation(pairings: Pairings, attributes: Attributes, seed: int) -> Tensor:
    r"""The largest correlation between a cubic of f and a function of A, in closed form (pairing,).

    The largest singular value of F'WB with F = (f, f², f³) made orthonormal and B the ridge-shrunk orthonormal basis of
    functions of A: canonical correlation. With f alone it is the root of the share of DPVar. Powers that are linear
    combinations of lower ones, as for a prediction of two values, are left out.
    """
    unkept = replace(attributes)  # attributes would keep the smoother
    smoother = general_mean(attributes.values).prepare(unkept, seed=seed)
    weight = smoother.row_weight.unsqueeze(1)
    powers = torch.stack([pairings.prediction**degree for degree in range(1, _DEGREE + 1)], dim=1)
    powers = powers - powers.mean(dim=0)
    scale = powers.norm(dim=0)
    components = _principal(powers / torch.where(scale > 0, scale, 1))
    count = components.shape[1]
    if not count:
        return pairings.prediction.new_zeros(len(pairings.order))
    components = components / components.norm(dim=0) * len(components) ** 0.5
    functions = smoother.fit.beyond(smoother.nuisance).signed
    shrinkage = functions.weights(smoother.shrinkage(_RIDGE)[smoother.nuisance :])
    of_cells = pairings.sums_by_cell(components, functions.cells, smoother.row_weight) * functions.scale
    cross = torch.cat([pairings.sums(components, functions.columns * weight), of_cells], dim=2)
    explained = (cross * shrinkage) @ cross.transpose(1, 2)  # (pairing, power, power)
    products = (components.unsqueeze(2) * components.unsqueeze(1)).flatten(1)
    moments = pairings.sums(torch.cat([components, products], dim=1), weight).squeeze(2)
    means = moments[:, :count]
    gram = moments[:, count:].view(-1, count, count) - means.unsqueeze(2) * means.unsqueeze(1)
    moments, vectors = torch.linalg.eigh(gram)
    usable = moments > _NEGLIGIBLE * moments.amax(dim=1, keepdim=True)  # with few heavy rows, powers nearly coincide
    whitening = vectors * torch.where(usable, moments, torch.inf).rsqrt().unsqueeze(1)
    squares: Tensor = torch.linalg.eigvalsh(whitening.transpose(1, 2) @ explained @ whitening)[:, -1]
    return squares.clamp(0.0, 1.0).sqrt()


def _principal(functions: Tensor) -> Tensor:
    """Principal components with the same FFᵀ up to rounding: (row, function) -> (row, component)."""
    moments, vectors = torch.linalg.eigh(functions.T @ functions)
    kept: Tensor = vectors[:, moments > _NEGLIGIBLE * moments.max()]
    return functions @ kept


MEASURES: dict[str, tuple[str, Values]] = {
    "linear R²": ("straight-line differences in the average", linear_r2),
    "GDP": ("differences in the average, in standard deviations of the prediction", gdp),
    "HSIC": ("any dependence, the spread and shape of predictions included", hsic),
    "maximal correlation": ("any dependence of f, f² or f³ on A", maximal_correlation),
}


def measure_dependence(
    prediction: Array, sensitive: Array, row_weight: Array, seed: int, groups: Index | None = None
) -> tuple[Measure, ...]:
    """Every measure of a prediction (row,) on attributes (row, attribute), with its 95 % quantile over random
    pairings, in which rows of a group (row,) stay together.
    """
    weight = row_weight / row_weight.sum()
    pairings = Pairings.of(prediction, row_weight, PERMUTATIONS, seed, groups)
    attributes = Attributes(standardiser(sensitive, weight)(sensitive), row_weight=row_weight)
    measures = []
    for name, (sees, values) in MEASURES.items():
        value = values(pairings, attributes, seed).double().numpy()
        measures.append(Measure(name, float(value[0]), float(np.quantile(value[1:], 0.95)), sees))
    return tuple(measures)

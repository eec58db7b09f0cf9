"""HGR with truncated kernels: the largest correlation of a polynomial of f with a polynomial of A."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb, sqrt
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.exceptions import InvalidInput
from fairlevel.networks.backend import PreparedTensors, on_tensors
from fairlevel.networks.standardised import standardised, through_standardising
from fairlevel.penalties.protocol import Penalty, PenaltyStep

MOST_FUNCTIONS = 200
"""Products of polynomials of A. Their number grows like attributes^degree, so the degree is lowered until there are no
more than this; degree 1 is always kept."""


def hermite(u: Tensor, degree: int) -> Tensor:
    """h_0 … h_d with h_{k+1} = (u h_k − √k h_{k−1}) / √(k+1) and h_k' = √k h_{k−1}: (…) -> (…, degree + 1)."""
    found = [torch.ones_like(u), u]
    for k in range(1, degree):
        found.append((u * found[k] - sqrt(k) * found[k - 1]) / sqrt(k + 1))
    return torch.stack(found[: degree + 1], dim=-1)


def lowered(attributes: int, degree: int) -> int:
    """The largest degree ≤ ``degree`` for which the attributes have at most 200 products of powers."""
    while degree > 1 and comb(attributes + degree, degree) - 1 > MOST_FUNCTIONS:
        degree -= 1
    return degree


def products(values: Array, degree: int) -> Array:
    """All products of polynomials of the attributes of total degree 1 … ``degree``, lowered where they are too many:
    (row, attribute) -> (row, function).
    """
    attributes = values.shape[1]
    degree = lowered(attributes, degree)
    single = hermite(torch.from_numpy(values), degree).numpy()
    columns = [np.empty((len(values), 0))]
    for total in range(1, degree + 1):
        for chosen in combinations_with_replacement(range(attributes), total):
            powers = [(column, chosen.count(column)) for column in sorted(set(chosen))]
            columns.append(np.prod([single[:, column, power] for column, power in powers], axis=0)[:, None])
    return np.hstack(columns)


_SQUARINGS = 24  # two eigenvalues that differ by 1e-6 of themselves are told apart


@dataclass(frozen=True)
class Polynomials(PreparedTensors):
    """Functions of A. Shapes: functions G centred (row, function), whitening T (function, function) with
    T (GᵀWG + εI) T = I, row_weight (row,).
    """

    functions: Tensor
    whitening: Tensor
    row_weight: Tensor


class Pair(NamedTuple):
    """The polynomials of f and of A that correlate most: coefficients (config, degree) and (config, function)."""

    of_prediction: Tensor
    of_attributes: Tensor


@dataclass(frozen=True)
class KernelHGR(Penalty):
    r"""The square of the double-kernel Hirschfeld–Gebelein–Rényi correlation (Giuliani & Lombardi).

    .. math:: P = \max_{\alpha, \beta} \operatorname{corr}^2(F\alpha, G\beta) =
              \lambda_{\max}\big((F^\top W F + \epsilon I)^{-1} M^\top M\big), \qquad
              M = (G^\top W G + \epsilon I)^{-1/2} G^\top W F, \qquad
              \frac{\partial P}{\partial F_{ik}} = 2 w_i \alpha_k (\psi_i - P \varphi_i)

    with F the polynomials 1 … ``degree`` of the standardised prediction u, G all products of polynomials of A up to
    ``sensitive_degree`` (both centred), φ = Fα and ψ = Gβ the best pair, scaled to αᵀ(FᵀWF + εI)α = 1. The pair is the
    solution of an eigenvalue problem, so its own change does not enter the gradient. The authors reach the same maximum
    with a constrained solver. P is multiplied by Var u, which is 1 unless f spreads less than 0.05.

    P is a share: a larger spread of f changes nothing. For a Gaussian pair P = ρ², at any degree. With ``degree=1`` it
    is the R² of f on the polynomials. Traps: dependence beyond the degrees is invisible; with few rows the maximum over
    many functions is far above 0 under independence, about (√degrees + √functions)²/n. ``sensitive_degree`` is
    lowered until A has at most 200 functions.

    Parameters
    ----------
    degree : of the polynomials of f
    sensitive_degree : total degree of the polynomials of A
    ridge : ε
    """

    degree: int = 3
    sensitive_degree: int = 3
    ridge: float = 1e-3

    name: ClassVar[str] = "hgr_kernel"

    def __post_init__(self) -> None:
        check_degrees(degree=self.degree, sensitive_degree=self.sensitive_degree)
        if not 0 < self.ridge < float("inf"):
            raise InvalidInput(f"ridge={self.ridge} was given; a positive number is needed, such as 0.001.")

    def prepare(self, attributes: Attributes, seed: int) -> Polynomials:
        functions, weight = torch.from_numpy(products(attributes.values, self.sensitive_degree)), attributes.weight
        row_weight = torch.from_numpy(weight)
        functions = functions - row_weight @ functions
        moments, vectors = torch.linalg.eigh(functions.T @ (row_weight.unsqueeze(1) * functions))
        whitening = (vectors / (moments.clamp_min(0) + self.ridge).sqrt()) @ vectors.T
        return Polynomials(functions, whitening, row_weight)

    @on_tensors
    def step(self, prediction: Tensor, prepared: Polynomials, state: Pair | None) -> PenaltyStep:
        weight, u = prepared.row_weight, standardised(prediction, prepared.row_weight)
        found = hermite(u.value, self.degree)
        own = found[..., 1:] - (found[..., 1:] * weight.unsqueeze(1)).sum(dim=1, keepdim=True)  # F (config, row, k)
        weighted = own * weight.unsqueeze(1)
        moments = own.transpose(1, 2) @ weighted
        overlap = (weighted.transpose(1, 2) @ prepared.functions) @ prepared.whitening  # Mᵀ (config, k, function)
        largest, alpha = largest_share(overlap, moments, self.ridge)
        beta = (alpha.unsqueeze(1) @ overlap).squeeze(1) @ prepared.whitening
        phi, psi = (own @ alpha.unsqueeze(-1)).squeeze(-1), beta @ prepared.functions.T
        slope = (found[..., :-1] * (alpha * _roots(alpha)).unsqueeze(1)).sum(dim=-1)  # dφ/du
        spread = (weight * u.value.square()).sum(dim=-1)
        own_gradient = 2 * weight * (psi - largest.unsqueeze(1) * phi) * slope
        gradient = spread.unsqueeze(1) * own_gradient + 2 * weight * u.value * largest.unsqueeze(1)
        return PenaltyStep(spread * largest, through_standardising(gradient, u, weight), Pair(alpha, beta))

    @on_tensors
    def value(self, prediction: Tensor, prepared: Polynomials, state: Pair | None) -> Tensor:
        """The squared correlation of the pair as training left it, on these rows; none where the sign has changed."""
        if state is None:
            return torch.zeros_like(prediction[:, 0])
        weight, u = prepared.row_weight, standardised(prediction, prepared.row_weight)
        phi = (hermite(u.value, self.degree)[..., 1:] @ state.of_prediction.unsqueeze(-1)).squeeze(-1)
        psi = state.of_attributes @ prepared.functions.T
        phi, psi = (each - (each * weight).sum(dim=-1, keepdim=True) for each in (phi, psi))
        covariance = (weight * phi * psi).sum(dim=-1).clamp_min(0)
        scale = (weight * phi.square()).sum(dim=-1) * (weight * psi.square()).sum(dim=-1)
        spread = (weight * u.value.square()).sum(dim=-1)
        return spread * covariance.square() / scale.clamp_min(torch.finfo(scale.dtype).tiny)


def largest_share(overlap: Tensor, moments: Tensor, ridge: float) -> tuple[Tensor, Tensor]:
    """max_α |αᵀMᵀ|² / αᵀ(S + εI)α and the α that reaches it, with αᵀ(S + εI)α = 1.

    Shapes: overlap Mᵀ (config, k, function), moments S (config, k, k) -> (config,), (config, k). By repeated squaring
    of the k × k matrix, in 64 bits: no number leaves a GPU, and a configuration that diverged harms no other.
    """
    identity = torch.eye(moments.shape[-1], dtype=torch.float64, device=moments.device)
    factor, _ = torch.linalg.cholesky_ex(moments.double() + ridge * identity)
    scaled = torch.linalg.solve_triangular(factor, overlap.double(), upper=False)
    power = scaled @ scaled.transpose(1, 2) + 1e-12 * identity
    for _ in range(_SQUARINGS):
        power = power / power.diagonal(dim1=1, dim2=2).sum(dim=-1)[:, None, None]
        power = power @ power
    best = power.diagonal(dim1=1, dim2=2).argmax(dim=-1)
    direction = power.gather(2, best[:, None, None].expand(-1, power.shape[1], 1))
    direction = direction / direction.norm(dim=1, keepdim=True)
    largest = (scaled.transpose(1, 2) @ direction).square().sum(dim=(1, 2))
    alpha = torch.linalg.solve_triangular(factor.transpose(1, 2), direction, upper=True).squeeze(-1)
    return largest.to(overlap), alpha.to(overlap)


def check_degrees(**degrees: int) -> None:
    """Refuse degrees that polynomials cannot have, or that double precision does not carry."""
    for name, degree in degrees.items():
        if not isinstance(degree, int) or not 1 <= degree <= 8:
            raise InvalidInput(f"{name}={degree} was given; a whole number from 1 to 8 is needed, such as 3.")


def _roots(alpha: Tensor) -> Tensor:
    """√1 … √k, the factors of h_k' = √k h_{k−1}: (k,)."""
    return torch.arange(1, alpha.shape[1] + 1, device=alpha.device, dtype=alpha.dtype).sqrt()

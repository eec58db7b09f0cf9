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
from fairlevel.networks.backend import PreparedTensors
from fairlevel_study.penalties.differentiated import Dependence

MOST_FUNCTIONS = 200
"""Products of polynomials of A. Their number grows like attributes^degree, so the degree is lowered until there are no
more than this; degree 1 is always kept."""


def hermite(u: Tensor, degree: int) -> Tensor:
    """h_0 … h_d with h_{k+1} = (u h_k − √k h_{k−1}) / √(k+1): (…) -> (…, degree + 1)."""
    powers = [torch.ones_like(u), u]
    for k in range(1, degree):
        powers.append((u * powers[k] - sqrt(k) * powers[k - 1]) / sqrt(k + 1))
    return torch.stack(powers[: degree + 1], dim=-1)


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
class KernelHGR(Dependence):
    r"""The square of the double-kernel Hirschfeld–Gebelein–Rényi correlation (Giuliani & Lombardi).

    .. math:: P = \max_{\alpha, \beta} \operatorname{corr}^2(F\alpha, G\beta) =
              \max_\alpha \frac{|M \alpha|^2}{\alpha^\top (F^\top W F + \epsilon I)\, \alpha}, \qquad
              M = (G^\top W G + \epsilon I)^{-1/2} G^\top W F

    with F the polynomials 1 … ``degree`` of the standardised prediction u, and G all products of polynomials of A up to
    ``sensitive_degree`` (both centred). The best α solves an eigenvalue problem, so its own change does not enter the
    gradient. The authors reach the same maximum with a constrained solver.

    For a Gaussian pair P = ρ², at any degree; with ``degree=1`` it is the R² of f on the polynomials. Traps: dependence
    beyond the degrees is invisible; with few rows the maximum over many functions is far above 0 under independence,
    about (√degrees + √functions)²/n. ``sensitive_degree`` is lowered until A has at most 200 functions.
    """

    degree: int = 3  # of the polynomials of f
    sensitive_degree: int = 3  # total degree of the polynomials of A
    ridge: float = 1e-3  # ε

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

    def dependence(self, u: Tensor, prepared: Polynomials, state: Pair | None) -> tuple[Tensor, Pair]:
        weight, powers = prepared.row_weight, hermite(u, self.degree)[..., 1:]
        centred = powers - (powers * weight.unsqueeze(1)).sum(dim=1, keepdim=True)  # F (config, row, k)
        weighted = centred * weight.unsqueeze(1)
        moments = centred.transpose(1, 2) @ weighted
        overlap = (weighted.transpose(1, 2) @ prepared.functions) @ prepared.whitening  # Mᵀ (config, k, function)
        alpha = best_direction(overlap.detach(), moments.detach(), self.ridge)
        along = (alpha.unsqueeze(1) @ overlap).squeeze(1)
        scale = ((alpha.unsqueeze(1) @ moments).squeeze(1) * alpha).sum(dim=-1) + self.ridge * alpha.square().sum(
            dim=-1
        )
        return along.square().sum(dim=-1) / scale, Pair(alpha, along.detach() @ prepared.whitening)

    def held_out(self, u: Tensor, prepared: Polynomials, state: Pair | None) -> Tensor:
        """The squared correlation of the pair as training left it, on these rows; none where the sign has changed."""
        if state is None:
            return torch.zeros_like(u[:, 0])
        weight = prepared.row_weight
        phi = (hermite(u, self.degree)[..., 1:] @ state.of_prediction.unsqueeze(-1)).squeeze(-1)
        psi = state.of_attributes @ prepared.functions.T
        phi, psi = (values - (values * weight).sum(dim=-1, keepdim=True) for values in (phi, psi))
        covariance = (weight * phi * psi).sum(dim=-1).clamp_min(0)
        scale = (weight * phi.square()).sum(dim=-1) * (weight * psi.square()).sum(dim=-1)
        return covariance.square() / scale.clamp_min(torch.finfo(scale.dtype).tiny)


def best_direction(overlap: Tensor, moments: Tensor, ridge: float) -> Tensor:
    """The α, (config, k), that reaches max |αᵀMᵀ|² / αᵀ(S + εI)α, with αᵀ(S + εI)α = 1.

    Shapes: overlap Mᵀ (config, k, function), moments S (config, k, k). By repeated squaring of the k × k matrix, in 64
    bits: no number leaves a GPU, and a configuration that diverged harms no other.
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
    alpha: Tensor = torch.linalg.solve_triangular(factor.transpose(1, 2), direction, upper=True).squeeze(-1)
    return alpha.to(overlap)


def check_degrees(**degrees: int) -> None:
    """Refuse degrees that polynomials cannot have, or that double precision does not carry."""
    for name, degree in degrees.items():
        if not isinstance(degree, int) or not 1 <= degree <= 8:
            raise InvalidInput(f"{name}={degree} was given; a whole number from 1 to 8 is needed, such as 3.")

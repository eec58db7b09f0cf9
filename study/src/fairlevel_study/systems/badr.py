"""BADR: weights of groups, chosen so that the weighted fit is level: a search among fits that no group can improve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from fairlevel.arrays import Array, Index
from fairlevel.candidates import TrainingSetup
from fairlevel.candidates.protocol import PLAIN_RATE
from fairlevel.members import Members
from fairlevel_study.systems.groups import GroupVariance, groups_of
from fairlevel_study.systems.networks import plain_network
from fairlevel_study.systems.protocol import Data


def onto_simplex(points: Tensor) -> Tensor:
    """The nearest point with entries ≥ 0 that sum to 1, for each row, (config, group)."""
    descending = points.sort(dim=1, descending=True).values
    excess = (descending.cumsum(dim=1) - 1) / torch.arange(1, points.shape[1] + 1)
    last = (descending > excess).sum(dim=1, keepdim=True) - 1
    return (points - excess.gather(1, last)).clamp_min(0)


@dataclass(frozen=True)
class GroupFits:
    r"""Ridge regressions that weigh groups: w_λ = argmin_w Σ_g λ_g F_g(w) + ρ|w|², F_g the mean squared error in group
    g, and the outer objective U = MSE + γ V, V the variance between group averages.

    Shapes: features Φ (row, unit), target (row,), moments Φ_gᵀΦ_g / n_g (group, unit, unit), products Φ_gᵀy_g / n_g
    (group, unit).
    """

    features: Tensor
    target: Tensor
    variance: GroupVariance
    moments: Tensor
    products: Tensor
    ridge: float

    @classmethod
    def of(cls, features: Array, y: Array, number: Index, ridge: float) -> Self:
        phi, target = torch.from_numpy(features), torch.from_numpy(y)
        group = np.unique(number, return_inverse=True)[1]
        variance = GroupVariance.of(group, int(group.max()) + 1, target)
        members = [variance.member[:, g].bool() for g in range(variance.member.shape[1])]
        moments = torch.stack([phi[member].T @ phi[member] / member.sum() for member in members])
        products = torch.stack([phi[member].T @ target[member] / member.sum() for member in members])
        return cls(phi, target, variance, moments, products, ridge)

    def solution(self, weights: Tensor) -> Tensor:
        """w_λ, (config, group) -> (config, unit)."""
        identity = torch.eye(self.moments.shape[1], dtype=torch.float64)
        curvature = torch.tensordot(weights, self.moments, 1) + self.ridge * identity
        solution: Tensor = torch.linalg.solve(curvature, weights @ self.products)
        return solution

    def outer(self, solution: Tensor, gamma: Tensor) -> Tensor:
        """U, (config,)."""
        prediction = solution @ self.features.T
        return (prediction - self.target).square().mean(dim=1) + gamma * self.variance.value(prediction)

    def hypergradient(self, weights: Tensor, gamma: Tensor) -> tuple[Tensor, Tensor]:
        """U(w_λ) (config,) and its gradient in λ (config, group)."""
        leaf = weights.detach().requires_grad_()
        value = self.outer(self.solution(leaf), gamma)
        (slope,) = torch.autograd.grad(value.sum(), leaf)
        return value.detach(), slope


def descend(fits: GroupFits, gamma: Tensor, steps: int) -> Tensor:
    """λ (config, group) by projected gradient steps, each halved until U does not rise; from the shares of the
    groups, which is the plain fit.
    """
    weights, rate = fits.variance.share.repeat(len(gamma), 1), torch.ones_like(gamma)
    value, slope = fits.hypergradient(weights, gamma)
    for _ in range(steps):
        length = slope.abs().amax(dim=1, keepdim=True).clamp_min(1e-12)
        tried = onto_simplex(weights - rate[:, None] * slope / length)
        there, slope_there = fits.hypergradient(tried, gamma)
        better = there < value
        weights = torch.where(better[:, None], tried, weights)
        value, slope = torch.where(better, there, value), torch.where(better[:, None], slope_there, slope)
        rate = torch.where(better, (1.5 * rate).clamp_max(1.0), rate / 2)
    return weights


@dataclass(frozen=True)
class BADR:
    """Adaptive weights of groups (after Tanji et al. 2026), on the last layer of a plain network, where the inner
    problem has a closed form. Only re-weighted fits are searched, so that small disparities may be out of reach.

    A strength is γ of the outer objective.
    """

    bins: int | None = 4
    learning_rate: float = PLAIN_RATE
    ridge: float = 1e-3
    steps: int = 300

    name: ClassVar[str] = "badr"
    uses_attributes: ClassVar[bool] = False

    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> Members:
        groups = groups_of(self.name, data.a, self.bins, setup.seed)
        body = plain_network(data.x, data.y, setup, self.learning_rate)
        features = np.hstack([body.features(data.x), np.ones((len(data.y), 1))])
        fits = GroupFits.of(features, data.y, groups.number(data.a), self.ridge)
        gamma = torch.tensor(strengths, dtype=torch.float64)
        heads = fits.solution(descend(fits, gamma, self.steps)).numpy()
        return body.with_heads(heads[:, :-1], heads[:, -1])[0]

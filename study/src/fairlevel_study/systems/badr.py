"""BADR: weights of groups, chosen so that the weighted fit is level: a search among fits that no group can improve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.candidates import TrainingSetup
from fairlevel.candidates.protocol import PLAIN_RATE
from fairlevel.members import Members
from fairlevel_study.systems.groups import groups_of
from fairlevel_study.systems.networks import plain_network
from fairlevel_study.systems.protocol import Data


def onto_simplex(points: Array) -> Array:
    """The nearest point with entries ≥ 0 that sum to 1, for each row, (config, group)."""
    descending = np.sort(points, axis=1)[:, ::-1]
    excess = (descending.cumsum(axis=1) - 1) / np.arange(1, points.shape[1] + 1)
    last = (descending > excess).sum(axis=1) - 1
    nearest: Array = np.maximum(points - excess[np.arange(len(points)), last][:, None], 0)
    return nearest


@dataclass(frozen=True)
class GroupFits:
    r"""Ridge regressions that weigh groups: w_λ = argmin_w Σ_g λ_g F_g(w) + ρ|w|², F_g the mean squared error in group
    g, and the outer objective U = MSE + γ Σ_g p_g (m_g − m)².

    Shapes: grams Φ_gᵀΦ_g / n_g (group, unit, unit), products Φ_gᵀy_g / n_g (group, unit), means (group, unit), share p
    (group,), constant E y².
    """

    grams: Array
    products: Array
    means: Array
    share: Array
    constant: float
    ridge: float

    @classmethod
    def of(cls, features: Array, y: Array, number: Index, count: int, ridge: float) -> Self:
        present = [features[number == group] for group in range(count) if (number == group).any()]
        targets = [y[number == group] for group in range(count) if (number == group).any()]
        return cls(
            np.stack([phi.T @ phi / len(phi) for phi in present]),
            np.stack([phi.T @ own / len(own) for phi, own in zip(present, targets, strict=True)]),
            np.stack([phi.mean(axis=0) for phi in present]),
            np.array([len(own) for own in targets]) / len(y),
            float((y**2).mean()),
            ridge,
        )

    def solution(self, weights: Array) -> tuple[Array, Array]:
        """w_λ (config, unit) and Σ_g λ_g Φ_gᵀΦ_g / n_g + ρI (config, unit, unit)."""
        curvature = np.tensordot(weights, self.grams, 1) + self.ridge * np.eye(self.grams.shape[1])
        return _solved(curvature, weights @ self.products), curvature

    def outer(self, solution: Array, gamma: Array) -> tuple[Array, Array]:
        """U (config,) and its gradient in w (config, unit)."""
        gram, product = np.tensordot(self.share, self.grams, 1), self.share @ self.products
        apart = self.means - self.share @ self.means
        spread = apart.T @ (self.share[:, None] * apart)
        curved = solution @ gram + gamma[:, None] * (solution @ spread)
        value = (solution * curved).sum(axis=1) - 2 * solution @ product + self.constant
        return value, 2 * (curved - product)

    def hypergradient(self, weights: Array, gamma: Array) -> tuple[Array, Array]:
        """U(w_λ) (config,) and its gradient in λ (config, group): −∇F_gᵀ (2H)⁻¹ ∇U, H the curvature above."""
        solution, curvature = self.solution(weights)
        value, slope = self.outer(solution, gamma)
        adjoint = _solved(curvature, slope)
        residual = np.einsum("guv,cv->cgu", self.grams, solution) - self.products
        return value, -np.einsum("cgu,cu->cg", residual, adjoint)


def _solved(curvature: Array, right: Array) -> Array:
    """(config, unit, unit), (config, unit) -> (config, unit)."""
    return np.linalg.solve(curvature, right[..., None])[..., 0].astype(np.float64, copy=False)


def descend(fits: GroupFits, gamma: Array, steps: int) -> Array:
    """λ (config, group) by projected gradient steps, each halved until U does not rise; from the shares of the
    groups, which is the plain fit.
    """
    weights, rate = np.tile(fits.share, (len(gamma), 1)), np.full(len(gamma), 1.0)
    value, slope = fits.hypergradient(weights, gamma)
    for _ in range(steps):
        length = np.abs(slope).max(axis=1, keepdims=True).clip(min=1e-12)
        tried = onto_simplex(weights - rate[:, None] * slope / length)
        found, there = fits.hypergradient(tried, gamma)
        better = found < value
        weights = np.where(better[:, None], tried, weights)
        value, slope = np.where(better, found, value), np.where(better[:, None], there, slope)
        rate = np.where(better, np.minimum(1.5 * rate, 1.0), rate / 2)
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
        fits = GroupFits.of(features, data.y, groups.number(data.a), groups.count, self.ridge)
        found, _ = fits.solution(descend(fits, np.asarray(strengths, dtype=np.float64), self.steps))
        return body.with_heads(found[:, :-1], found[:, -1])[0]

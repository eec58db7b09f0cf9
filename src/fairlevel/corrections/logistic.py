r"""Changing a classifier as little as possible until its average probability is level.

Columns Φ are added to the log-odds s0 of the model, and DPVar is that of the probabilities p = σ(s). With p0 those of
the model as it is and P = B d BᵀW the share that functions of A explain,

.. math:: \min_u \; 2\, \mathrm{KL}_W(p_0 \,\|\, p) + \alpha\, p^\top P p + \lambda \lVert u \rVert^2,
          \qquad p = \sigma(s_0 + \Phi u + b(u)),

where b(u) keeps the mean of p. No labels are needed: p0 stands for P(Y=1|X). To first order in u this is the problem of
:mod:`fairlevel.corrections.closed_form` with row weights W p0(1−p0); λ is its ρτ for these weights. Gauss–Newton steps,
each halved until the objective falls, lead from one α to the next larger one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit

from fairlevel.arrays import Array
from fairlevel.corrections.closed_form import LEFT, CorrectionPath, Disparity, gram, solver, typical_size

ACCURACY = 1e-3
"""Share by which an objective must fall in a step for another one to follow."""

_SMALLEST_SLOPE = 1e-6  # of p(1−p), for rows of which a model is certain
_LARGEST_ALPHA = 1e9
_ABOVE_LEAST = 1.2  # closer to the least disparity that columns can leave, probabilities run to 0 and 1
_MOST_STEPS = 40
_MOST_HALVINGS = 12
_LARGEST_SHIFT = 3.0  # of the intercept in one Newton step


def keeping_mean(log_odds: Array, weight: Array, mean: float) -> Array:
    """The b with which the weighted mean of σ(s + b) is ``mean``, (candidate,) for s (candidate, row)."""
    shift = np.zeros(len(log_odds))
    for _ in range(100):
        p = expit(log_odds + shift[:, None])
        slope = np.maximum((p * (1 - p)) @ weight, 1e-12)
        step = ((mean - p @ weight) / slope).clip(-_LARGEST_SHIFT, _LARGEST_SHIFT)
        shift += step
        if np.abs(step).max() <= 1e-13 * (1 + np.abs(shift).max()):
            break
    return shift


@dataclass(frozen=True)
class LogisticObjective:
    """The objective for one α. Shapes: columns Φ (row, column), start s0 (row,); ``ridge`` is λ."""

    columns: Any
    start: Array
    disparity: Disparity
    alpha: float
    ridge: float

    @cached_property
    def before(self) -> Array:
        """p0, (row,)."""
        return np.asarray(expit(self.start))

    def at(self, u: Array) -> Point:
        """The value, with the intercept that keeps the mean."""
        weight = self.disparity.row_weight
        log_odds = self.start + self.columns @ u
        intercept = float(keeping_mean(log_odds[None], weight, float(weight @ self.before))[0])
        log_odds = log_odds + intercept
        away = weight @ (_log_loss(self.before, log_odds) - _log_loss(self.before, self.start))
        disparity = self.disparity.coefficients(expit(log_odds))
        value = 2 * away + self.alpha * (disparity @ disparity) + self.ridge * (u @ u)
        return Point(self, u, log_odds, intercept, float(value))

    def minimised(self, u: Array, accuracy: float) -> Point:
        """From u until the objective falls by no more than its share ``accuracy`` in one step. The matrix M + αCCᵀ of
        Gauss–Newton steps, with M = G + λI, is that of the first u, and serves all steps: it is most of the work.
        """
        point = self.at(u)
        matrix, crossed = linearised(self.columns, point.probability, self.disparity)
        solve = solver(matrix, self.ridge)
        solved = solve(crossed)  # M⁻¹C
        inner = np.eye(solved.shape[1]) / self.alpha + crossed.T @ solved  # I/α + CᵀM⁻¹C
        for _ in range(_MOST_STEPS):
            direct = solve(point.half_gradient)
            step = solved @ np.linalg.solve(inner, crossed.T @ direct) - direct
            halved = (self.at(point.u + step / 2**halvings) for halvings in range(_MOST_HALVINGS))
            lower = next((there for there in halved if there.value < point.value), point)
            if point.value - lower.value <= accuracy * abs(point.value):
                return lower
            point = lower
        return point


@dataclass(frozen=True)
class Point:
    """A correction. Shapes: u (column,), log_odds after it (row,)."""

    objective: LogisticObjective
    u: Array
    log_odds: Array
    intercept: float
    value: float

    @property
    def probability(self) -> Array:
        """p, (row,)."""
        return np.asarray(expit(self.log_odds))

    @property
    def half_gradient(self) -> Array:
        """Half the gradient with respect to u, b(u) included: (column,)."""
        objective, p = self.objective, self.probability
        weight, slope = objective.disparity.row_weight, p * (1 - p)
        pull = objective.disparity.functions @ objective.disparity.coefficients(p)
        by_row = weight * (p - objective.before) + objective.alpha * slope * pull
        by_row -= by_row.sum() / max(float(slope @ weight), 1e-300) * weight * slope
        return np.asarray(objective.columns.T @ by_row + objective.ridge * self.u)


def linearised(columns: Any, probability: Array, disparity: Disparity) -> tuple[Array, Array]:
    """G and C (column, function) of the problem to first order around probabilities (row,): rows count by Wp(1−p), by
    how far probabilities follow log-odds.
    """
    slope = np.maximum(probability * (1 - probability), _SMALLEST_SLOPE)
    metric = disparity.row_weight * slope
    weighted = slope[:, None] * disparity.functions
    beyond_mean = weighted - (metric / metric.sum())[:, None] * weighted.sum(axis=0)
    return gram(columns, metric), np.asarray(columns.T @ beyond_mean)


def logistic_corrections(
    columns: Any,
    log_odds: Array,
    disparity: Disparity,
    ridges: Sequence[float],
    shares: Sequence[float] = LEFT,
    accuracy: float = ACCURACY,
) -> list[Point]:
    """For each ridge ρ one correction per share of pᵀPp that is left to first order, from the least change to the most
    level.
    """
    p = expit(log_odds)
    matrix, crossed = linearised(columns, p, disparity)
    points: list[Point] = []
    for ridge in ridges:
        added = ridge * typical_size(matrix)
        path = CorrectionPath.of(matrix, added, crossed, disparity.coefficients(p))
        least = float(path.left(np.array([_LARGEST_ALPHA]))[0])
        u: Array = np.zeros(len(crossed))
        for alpha in path.alphas([max(share, _ABOVE_LEAST * least) for share in shares]):
            points.append(LogisticObjective(columns, log_odds, disparity, float(alpha), added).minimised(u, accuracy))
            u = points[-1].u
    return points


def _log_loss(target: Array, log_odds: Array) -> Array:
    """−t log σ(s) − (1−t) log(1−σ(s)), (row,)."""
    loss: Array = np.logaddexp(0, log_odds) - target * log_odds
    return loss

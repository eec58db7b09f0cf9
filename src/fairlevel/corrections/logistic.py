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

import numpy as np
from scipy.special import expit

from fairlevel.arrays import Array
from fairlevel.corrections.closed_form import LEFT, CorrectionPath, Disparity
from fairlevel.corrections.columns import Columns, Factored, Normal

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
    found = np.zeros(len(log_odds))
    for _ in range(100):
        p = expit(log_odds + found[:, None])
        slope = np.maximum((p * (1 - p)) @ weight, 1e-12)
        step = ((mean - p @ weight) / slope).clip(-_LARGEST_SHIFT, _LARGEST_SHIFT)
        found += step
        if np.abs(step).max() <= 1e-13 * (1 + np.abs(found).max()):
            break
    return found


@dataclass(frozen=True)
class Point:
    """A correction. Shapes: u (column,), log_odds after it (row,)."""

    u: Array
    log_odds: Array
    intercept: float
    value: float

    @property
    def probability(self) -> Array:
        """p, (row,)."""
        found: Array = expit(self.log_odds)
        return found


@dataclass(frozen=True)
class LogisticObjective:
    """The objective for one α. Shapes: start s0 (row,); ``ridge`` is λ."""

    columns: Columns
    start: Array
    disparity: Disparity
    alpha: float
    ridge: float

    @cached_property
    def before(self) -> Array:
        """p0, (row,)."""
        found: Array = expit(self.start)
        return found

    def at(self, u: Array) -> Point:
        """The value, with the intercept that keeps the mean."""
        weight = self.disparity.row_weight
        log_odds = self.start + self.columns.apply(u[None])[0]
        intercept = float(keeping_mean(log_odds[None], weight, float(weight @ self.before))[0])
        log_odds = log_odds + intercept
        away = weight @ (_log_loss(self.before, log_odds) - _log_loss(self.before, self.start))
        disparity = self.disparity.coefficients(expit(log_odds))
        value = 2 * away + self.alpha * (disparity @ disparity) + self.ridge * (u @ u)
        return Point(u, log_odds, intercept, float(value))

    def half_gradient(self, point: Point) -> Array:
        """Half the gradient with respect to u, b(u) included: (column,)."""
        weight, p = self.disparity.row_weight, point.probability
        slope = p * (1 - p)
        pull = self.disparity.functions @ self.disparity.coefficients(p)
        by_row = weight * (p - self.before) + self.alpha * slope * pull
        by_row -= by_row.sum() / max(float(slope @ weight), 1e-300) * weight * slope
        found: Array = self.columns.cross(by_row[:, None])[:, 0] + self.ridge * point.u
        return found

    def minimised(self, u: Array, accuracy: float) -> Point:
        """From u until the objective falls by no more than its share ``accuracy`` in one step; the matrix of u, which
        is most of the work, serves all steps.
        """
        point = self.at(u)
        matrix = GaussNewton.at(point, self)
        for _ in range(_MOST_STEPS):
            found = self._lower(point, matrix.step(self.half_gradient(point)))
            if point.value - found.value <= accuracy * abs(point.value):
                return found
            point = found
        return point

    def _lower(self, point: Point, step: Array) -> Point:
        """The point after a step that is halved until the objective falls; the same point where it never does."""
        for halvings in range(_MOST_HALVINGS):
            found = self.at(point.u + step / 2**halvings)
            if found.value < point.value:
                return found
        return point


@dataclass(frozen=True)
class Linearised:
    """Columns, weighted by how far probabilities follow log-odds. Shapes: metric, proportional to Wp(1−p) and of sum 1,
    (row,); crossed C (column, function). ``size`` is the sum of Wp(1−p).
    """

    columns: Columns
    metric: Array
    size: float
    crossed: Array

    @classmethod
    def at(cls, columns: Columns, probability: Array, disparity: Disparity) -> Linearised:
        """For probabilities (row,)."""
        slope = np.maximum(probability * (1 - probability), _SMALLEST_SLOPE)
        size = float(disparity.row_weight @ slope)
        metric = disparity.row_weight * slope / size
        weighted = slope[:, None] * disparity.functions
        return cls(columns, metric, size, columns.cross(weighted - metric[:, None] * weighted.sum(axis=0)))

    @cached_property
    def normal(self) -> Normal:
        """G for these weights."""
        return self.columns.normal(self.metric)

    def factored(self, added: float) -> Factored:
        """G + added · I."""
        return self.normal.factored(added / self.normal.scale)


@dataclass(frozen=True)
class GaussNewton:
    """The matrix M + αCCᵀ of Gauss–Newton steps with M = σG + λI. Shapes: solved M⁻¹C (column, function), inner
    I/α + CᵀM⁻¹C (function, function).
    """

    rows: Linearised
    factored: Factored
    solved: Array
    inner: Array

    @classmethod
    def at(cls, point: Point, objective: LogisticObjective) -> GaussNewton:
        """With the weights p(1−p) of a point."""
        rows = Linearised.at(objective.columns, point.probability, objective.disparity)
        factored = rows.factored(objective.ridge / rows.size)
        solved = factored.solve(rows.crossed) / rows.size
        return cls(rows, factored, solved, np.eye(solved.shape[1]) / objective.alpha + rows.crossed.T @ solved)

    def step(self, half_gradient: Array) -> Array:
        """−(M + αCCᵀ)⁻¹ times half the gradient, (column,)."""
        direct = self.factored.solve(half_gradient[:, None])[:, 0] / self.rows.size
        step: Array = self.solved @ np.linalg.solve(self.inner, self.rows.crossed.T @ direct) - direct
        return step


@dataclass(frozen=True)
class LogisticCorrections:
    """Corrections of one ridge, from the least change to the most level, and what each of them minimises."""

    objectives: tuple[LogisticObjective, ...]
    points: tuple[Point, ...]

    @classmethod
    def all(
        cls,
        columns: Columns,
        log_odds: Array,
        disparity: Disparity,
        ridges: Sequence[float],
        shares: Sequence[float] = LEFT,
        accuracy: float = ACCURACY,
    ) -> list[LogisticCorrections]:
        """One per ridge ρ, each with one point per share of pᵀPp that is left to first order."""
        p = expit(log_odds)
        rows = Linearised.at(columns, p, disparity)
        found = []
        for ridge in ridges:
            added = ridge * rows.normal.scale
            solved = rows.factored(added).solve(rows.crossed) / rows.size
            path = CorrectionPath.of(solved, rows.crossed, disparity.coefficients(p))
            least = float(path.left(np.array([_LARGEST_ALPHA]))[0])
            alphas = path.alphas([max(share, _ABOVE_LEAST * least) for share in shares])
            objectives = tuple(
                LogisticObjective(columns, log_odds, disparity, float(alpha), rows.size * added) for alpha in alphas
            )
            points: list[Point] = []
            for objective in objectives:
                start = points[-1].u if points else np.zeros(len(rows.crossed))
                points.append(objective.minimised(start, accuracy))
            found.append(cls(objectives, tuple(points)))
        return found


def _log_loss(target: Array, log_odds: Array) -> Array:
    """−t log σ(s) − (1−t) log(1−σ(s)), (row,)."""
    loss: Array = np.logaddexp(0, log_odds) - target * log_odds
    return loss

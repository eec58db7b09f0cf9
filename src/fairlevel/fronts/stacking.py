r"""Mixtures of trained models: the front as one convex programme.

For candidates F (candidate, row) and mixtures f = wᵀF with w on the simplex, error and disparity are quadratic,

.. math:: \mathrm{MSE}(w) = w^\top G w - 2 q^\top w + \overline{y^2}, \qquad \mathrm{DPVar}(w) = w^\top K w,
          \qquad G = F W F^\top, \quad q = F W y,

so the best mixture for a weight of DPVar solves a quadratic programme, and the best mixture within a budget solves one
with a second-order cone. Clarabel (Goulart & Chen, 2024) solves both; a result says how far it is from optimal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import brentq

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput

DPVAR, SHARE = "DPVar", "share of DPVar in the variance"  # what a budget limits
SMALLEST_PROPORTION = 1e-3  # models with a smaller one are left out of a mixture
_TOLERANCE = 1e-9  # of the solver
_CONSTANT = 1e-12  # a prediction with at most this variance is constant; Var(y) is 1
_SMALLEST_RATIO, _LARGEST_RATIO = 1e-2, 1e5  # r of :meth:`Mixing.within_share`
_RATIO_TOLERANCE = 4e-3  # of log r
_LARGEST_FACTOR = 2.0  # of the linear term there; a larger one would only push w to the edge of the simplex
_SHARE_TOLERANCE = 1e-6  # relative amount by which a share may be exceeded


class OutOfReach(InvalidInput):
    """No choice of candidates meets the budget on ``quantity``; ``smallest`` is the smallest value that one reaches."""

    def __init__(self, quantity: str, budget: float, smallest: float) -> None:
        super().__init__(f"A {quantity} of {budget:.4g} is out of reach; the smallest one is {smallest:.4g}.")
        self.smallest = smallest


@dataclass(frozen=True)
class Mixture:
    """Proportions w (candidate,) of a mixture, its MSE and DPVar, and the largest violation of the optimality
    conditions.
    """

    proportions: Array
    mse: float
    dpvar: float
    residual: float


@dataclass(frozen=True)
class Mixing:
    """The quadratic forms over candidates: G (candidate, candidate), q and mean (candidate,), mean of y², K (candidate,
    candidate). ``ridge`` · ‖w‖² is added to the error: similar candidates then get similar proportions.
    """

    gram: Array
    cross: Array
    mean: Array
    mean_square: float
    disparity: Array
    ridge: float = 1e-3

    @classmethod
    def of(cls, predictions: Array, target: Array, weight: Array, disparity: Array, ridge: float = 1e-3) -> Mixing:
        """From predictions (candidate, row), target and weights that sum to 1, each (row,), and K; negative eigenvalues
        of K, which can only come from noise, are set to zero.
        """
        values, vectors = np.linalg.eigh((disparity + disparity.T) / 2)
        positive = (vectors * values.clip(min=0)) @ vectors.T
        return cls(
            (predictions * weight) @ predictions.T,
            predictions @ (weight * target),
            predictions @ weight,
            float(weight @ target**2),
            positive,
            ridge,
        )

    def figures(self, proportions: Array, residual: float = 0.0) -> Mixture:
        """MSE and DPVar of given proportions, (candidate,)."""
        mse = float(proportions @ self.gram @ proportions - 2 * self.cross @ proportions + self.mean_square)
        return Mixture(proportions, mse, float(proportions @ self.disparity @ proportions), residual)

    def share(self, mixture: Mixture) -> float:
        """DPVar as a share of the mixture's variance; 0 for a constant."""
        proportions = mixture.proportions
        variance = float(proportions @ self._variance @ proportions)
        return mixture.dpvar / variance if variance > _CONSTANT else 0.0

    def weighted(self, zeta: float) -> Mixture:
        r"""min over the simplex of MSE(w) + ζ DPVar(w) + ridge ‖w‖²."""
        if not 0 <= zeta < np.inf:
            raise InvalidInput(f"zeta={zeta} was given; a finite number ≥ 0 is needed.")
        return self._solve(self.gram + zeta * self.disparity, self.cross)

    def within(self, budget: float) -> Mixture:
        r"""min over the simplex of MSE(w) + ridge ‖w‖² subject to DPVar(w) ≤ budget, exactly."""
        if self._most_accurate.dpvar <= budget:
            return self._most_accurate
        if budget < self.smallest * (1 + 1e-6):
            raise OutOfReach(DPVAR, budget, self.smallest)
        return self._solve(self.gram, self.cross, budget=budget)

    @cached_property
    def smallest(self) -> float:
        """The smallest DPVar of any mixture."""
        return self._solve(self.disparity, np.zeros(len(self.cross)), ridge=1e-9).dpvar

    def within_share(self, share: float) -> Mixture:
        r"""min over the simplex of MSE(w) + ridge ‖w‖² subject to DPVar(w) ≤ share · Var(w).

        Shrinking f to a constant does not change its share, so this is not a budget on DPVar in other words. With
        G = V + mmᵀ, where Var(w) = wᵀVw and m holds the means of the candidates, and a multiplier μ, the Lagrangian
        has the quadratic part (1 − μ share) V + mmᵀ + μK. Divided by 1 − μ share, and with r = μ / (1 − μ share), it is

        .. math:: V + (1 + r\,\mathrm{share})\, m m^\top + r K, \qquad
                  \text{and its linear term } -2 (1 + r\,\mathrm{share})\, q .

        The constraint is not convex, but this is convex for every r. The share falls with r: the smallest r that keeps
        the share is searched for.
        """
        if self.share(self._most_accurate) <= share:
            return self._most_accurate
        low, high = float(np.log(_SMALLEST_RATIO)), float(np.log(_LARGEST_RATIO))
        tried: dict[float, Mixture] = {}  # by log r
        if _linear_factor(float(np.exp(high)), share) == _LARGEST_FACTOR:
            tried[high] = self._at_largest_ratio

        def excess(log_ratio: float) -> float:
            if log_ratio not in tried:
                tried[log_ratio] = self._at_ratio(float(np.exp(log_ratio)), share)
            return float(np.log(max(self.share(tried[log_ratio]), 1e-12) / share)) - _SHARE_TOLERANCE

        if excess(high) > 0:
            raise OutOfReach(SHARE, share, self.share(tried[high]))
        if excess(low) > 0:
            brentq(excess, low, high, xtol=_RATIO_TOLERANCE)
        return tried[min(each for each in tried if excess(each) <= 0)]

    @cached_property
    def smallest_share(self) -> float:
        """The smallest share that :meth:`within_share` can reach."""
        return self.share(self._at_ratio(_LARGEST_RATIO, 1e-3))

    @cached_property
    def _most_accurate(self) -> Mixture:
        """Whatever its DPVar."""
        return self._solve(self.gram, self.cross)

    @cached_property
    def _variance(self) -> Array:
        """V with Var(w) = wᵀVw, (candidate, candidate)."""
        variance: Array = self.gram - np.outer(self.mean, self.mean)
        return variance

    @cached_property
    def _at_largest_ratio(self) -> Mixture:
        """The same for every share whose linear term has the largest factor there."""
        return self._at_ratio(float(np.exp(np.log(_LARGEST_RATIO))), 1.0)

    def _at_ratio(self, ratio: float, share: float) -> Mixture:
        """The minimum of the Lagrangian of :meth:`within_share`, rescaled."""
        factor = _linear_factor(ratio, share)
        square = np.outer(self.mean, self.mean)
        mixture = self._solve(self._variance + square * factor + ratio * self.disparity, factor * self.cross)
        return self._rescaled(mixture)

    def _rescaled(self, mixture: Mixture) -> Mixture:
        """c + s (u − c), where c is the constant candidate, u the mixture without it, and s in [0, 1] has the smallest
        MSE. Every s > 0 has the same share. The mixture as it is where no candidate is constant.
        """
        constant = np.flatnonzero(np.diag(self._variance) <= _CONSTANT)
        others = mixture.proportions.copy()
        of_constant = float(others[constant].sum())
        if not len(constant) or not 0 < of_constant < 1:
            return mixture
        others[constant] = 0.0
        others /= 1 - of_constant
        only_constant = np.zeros(len(others))
        only_constant[constant[0]] = 1.0
        direction = others - only_constant
        square = float(direction @ self.gram @ direction)
        slope = float(direction @ (self.cross - self.gram @ only_constant))
        scale = float(np.clip(slope / square, 0.0, 1.0)) if square > 0 else 0.0
        return self.figures(only_constant + scale * direction, mixture.residual)

    def _solve(
        self, quadratic: Array, linear: Array, *, budget: float | None = None, ridge: float | None = None
    ) -> Mixture:
        r"""min over the simplex of wᵀQw − 2 lᵀw + ridge ‖w‖², subject to DPVar(w) ≤ budget where there is one.

        Clarabel takes min ½ wᵀPw − 2 lᵀw subject to Cw + s = b, with the slack s of each constraint in a cone: Σw = 1
        (s = 0), w ≥ 0 (s ≥ 0), and (√budget, Rw) in the second-order cone ‖Rw‖ ≤ √budget, where RᵀR = K. Shapes:
        Q (candidate, candidate), l (candidate,), C (constraint, candidate).
        """
        count = len(linear)
        hessian = 2 * (quadratic + (self.ridge if ridge is None else ridge) * np.eye(count))
        constraints = self._simplex if budget is None else self._simplex_and_cone
        cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(count)]
        limits = np.zeros(len(constraints))
        limits[0] = 1.0
        if budget is not None:
            limits[1 + count] = np.sqrt(budget)
            cones.append(clarabel.SecondOrderConeT(1 + len(self._root)))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TOLERANCE
        upper = sparse.csc_matrix(np.triu(hessian))  # of a symmetric matrix, as Clarabel wants it
        solver = clarabel.DefaultSolver(upper, -2 * linear, sparse.csc_matrix(constraints), limits, cones, settings)
        answer = solver.solve()
        proportions, dual, slack = (np.asarray(each) for each in (answer.x, answer.z, answer.s))
        residual = max(
            np.abs(hessian @ proportions - 2 * linear + constraints.T @ dual).max(),  # stationarity
            np.abs(constraints @ proportions + slack - limits).max(),  # feasibility
            abs(float(slack @ dual)),  # complementarity
        )
        return self.figures(proportions.clip(min=0) / proportions.clip(min=0).sum(), float(residual))

    @cached_property
    def _simplex(self) -> Array:
        """C for Σw = 1 and w ≥ 0, (constraint, candidate)."""
        count = len(self.cross)
        return np.vstack([np.ones((1, count)), -np.eye(count)])

    @cached_property
    def _simplex_and_cone(self) -> Array:
        """C with the rows of ‖Rw‖ ≤ √budget, (constraint, candidate)."""
        return np.vstack([self._simplex, np.zeros((1, len(self.cross))), -self._root])

    @cached_property
    def _root(self) -> Array:
        """R with RᵀR = K, (rank, candidate)."""
        values, vectors = np.linalg.eigh(self.disparity)
        kept = values > 1e-12 * max(values.max(), 1e-300)
        root: Array = (vectors[:, kept] * np.sqrt(values[kept])).T
        return root


def _linear_factor(ratio: float, share: float) -> float:
    """1 + r · share, the factor of the linear term in :meth:`Mixing.within_share`, at most ``_LARGEST_FACTOR``."""
    return min(1 + ratio * share, _LARGEST_FACTOR)


def without_small_proportions(proportions: Array) -> Array:
    """The proportions with those below 0.001 set to zero, scaled to sum to 1."""
    kept = np.where(proportions < SMALLEST_PROPORTION, 0.0, proportions)
    result: Array = kept / kept.sum()
    return result

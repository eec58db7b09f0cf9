r"""Mixtures of trained models: the front as one convex programme.

For candidates F (candidate, row) and mixtures f = wᵀF with w on the simplex, error and disparity are quadratic,

.. math:: \mathrm{MSE}(w) = w^\top G w - 2 q^\top w + \overline{y^2}, \qquad \mathrm{DPVar}(w) = w^\top K w,
          \qquad G = F W F^\top, \quad q = F W y,

so the best mixture for a weight of DPVar solves a quadratic programme, and the best mixture within a budget solves one
with a second-order cone. Clarabel (Goulart & Chen, 2024) solves both; a result says how far it is from optimal.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import brentq

from fairlevel.arrays import Array, Index
from fairlevel.exceptions import InvalidInput

SMALLEST_PROPORTION = 1e-3  # models with a smaller one are left out of a mixture
_TOLERANCE = 1e-9
_SMALLEST_RATIO, _LARGEST_RATIO = 1e-2, 1e5  # of the weights of DPVar and of the variance, under a budget on the share
_RATIO_TOLERANCE = 4e-3  # of its logarithm
_LONGEST = 2.0  # a linear term beyond twice its length would only press against the simplex
_ROUNDING = 1e-6  # by which a share may be exceeded, as a share of itself


DPVAR, SHARE = "DPVar", "share of DPVar in the variance"  # what a budget limits


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
class _Constraints:
    """The left side C of C w + slack = limits, (constraint, candidate), as an array and as a sparse matrix."""

    rows: Array
    matrix: sparse.csc_matrix

    @classmethod
    def of(cls, *blocks: Array) -> _Constraints:
        rows = np.vstack(blocks)
        return cls(rows, sparse.csc_matrix(rows))


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

    def weighted(self, zeta: float) -> Mixture:
        r"""min over the simplex of MSE(w) + ζ DPVar(w) + ridge ‖w‖²."""
        if not 0 <= zeta < np.inf:
            raise InvalidInput(f"zeta={zeta} was given; a finite number ≥ 0 is needed.")
        return self._solve(self.gram + zeta * self.disparity, self.cross, None)

    def within(self, budget: float) -> Mixture:
        r"""min over the simplex of MSE(w) + ridge ‖w‖² subject to DPVar(w) ≤ budget, exactly."""
        if self._free.dpvar <= budget:
            return self._free
        if budget < self.smallest * (1 + 1e-6):
            raise OutOfReach(DPVAR, budget, self.smallest)
        return self._solve(self.gram, self.cross, budget)

    def within_share(self, share: float) -> Mixture:
        r"""min MSE(w) + ridge ‖w‖² subject to DPVar(w) ≤ share · Var(w), where Var(w) = wᵀVw is that of the mixture.

        Shrinking to a constant does not change the share, so this is not a budget on DPVar in other words. The
        constraint is not convex. Its Lagrangian, V + rK with the linear term multiplied by 1 + r · share, is, for every
        r, and the share falls with r: the smallest r that keeps the share is sought. Where a candidate is constant,
        what such a solution has lost in scale is given back.
        """
        if self.share(self._free) <= share:
            return self._free
        low, high = float(np.log(_SMALLEST_RATIO)), float(np.log(_LARGEST_RATIO))
        tried: dict[float, Mixture] = {}
        if _length(float(np.exp(high)), share) == _LONGEST:
            tried[high] = self._most_level

        def excess(logarithm: float) -> float:
            if logarithm not in tried:
                tried[logarithm] = self._levelled(float(np.exp(logarithm)), share)
            return float(np.log(max(self.share(tried[logarithm]), 1e-12) / share)) - _ROUNDING

        if excess(high) > 0:
            raise OutOfReach(SHARE, share, self.share(tried[high]))
        if excess(low) > 0:
            brentq(excess, low, high, xtol=_RATIO_TOLERANCE)
        return tried[min(each for each in tried if excess(each) <= 0)]

    def share(self, mixture: Mixture) -> float:
        """DPVar as a share of the mixture's variance; 0 for a constant."""
        proportions = mixture.proportions
        variance = float(proportions @ self._variance @ proportions)
        return mixture.dpvar / variance if variance > 1e-12 else 0.0

    @cached_property
    def smallest_share(self) -> float:
        """The smallest share that :meth:`within_share` can reach."""
        return self.share(self._levelled(_LARGEST_RATIO, 1e-3))

    @cached_property
    def _most_level(self) -> Mixture:
        """At the largest ratio, for all budgets whose linear term is longest there."""
        return self._levelled(float(np.exp(np.log(_LARGEST_RATIO))), 1.0)

    @cached_property
    def _free(self) -> Mixture:
        """The most accurate mixture, whatever its DPVar."""
        return self._solve(self.gram, self.cross, None)

    @cached_property
    def _variance(self) -> Array:
        """V with the variance wᵀVw, (candidate, candidate)."""
        variance: Array = self.gram - np.outer(self.mean, self.mean)
        return variance

    def _levelled(self, ratio: float, share: float) -> Mixture:
        """min of V + ratio · K with the linear term of a budget on the share; the mean is fitted as before."""
        longer = _length(ratio, share)
        square = np.outer(self.mean, self.mean)
        mixture = self._solve(self._variance + square * longer + ratio * self.disparity, longer * self.cross, None)
        return self._stretched(mixture)

    def _stretched(self, mixture: Mixture) -> Mixture:
        """c + s (w − c), where c is the constant candidate, with the s that has the smallest error; the share is the
        same for every s.
        """
        constant = np.flatnonzero(np.diag(self._variance) <= 1e-12)
        proportions = mixture.proportions.copy()
        of_constant = float(proportions[constant].sum())
        if not len(constant) or not 0 < of_constant < 1:
            return mixture
        none = np.zeros(len(proportions))
        none[constant[0]] = 1.0
        proportions[constant] = 0.0
        proportions /= 1 - of_constant  # as far as proportions may go
        direction = proportions - none
        square = float(direction @ self.gram @ direction)
        slope = float(direction @ (self.cross - self.gram @ none))
        scale = float(np.clip(slope / square, 0.0, 1.0)) if square > 0 else 0.0
        return self.figures(none + scale * direction, mixture.residual)

    @cached_property
    def smallest(self) -> float:
        """The smallest DPVar of any mixture."""
        return self._solve(self.disparity, np.zeros(len(self.cross)), None, ridge=1e-9).dpvar

    @cached_property
    def _root(self) -> Array:
        """R with RᵀR = K, (rank, candidate)."""
        values, vectors = np.linalg.eigh(self.disparity)
        kept = values > 1e-12 * max(values.max(), 1e-300)
        root: Array = (vectors[:, kept] * np.sqrt(values[kept])).T
        return root

    @cached_property
    def _simplex(self) -> _Constraints:
        count = len(self.cross)
        return _Constraints.of(np.ones((1, count)), -np.eye(count))

    @cached_property
    def _simplex_and_cone(self) -> _Constraints:
        """With the rows of ‖R w‖ ≤ √budget."""
        return _Constraints.of(self._simplex.rows, np.zeros((1, len(self.cross))), -self._root)

    def _solve(self, quadratic: Array, linear: Array, budget: float | None, ridge: float | None = None) -> Mixture:
        count = len(linear)
        penalty = 2 * (quadratic + (self.ridge if ridge is None else ridge) * np.eye(count))
        constraints = self._simplex if budget is None else self._simplex_and_cone
        rows, cones = constraints.rows, [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(count)]
        limits = np.zeros(len(rows))
        limits[0] = 1.0
        if budget is not None:
            limits[1 + count] = np.sqrt(budget)
            cones.append(clarabel.SecondOrderConeT(1 + len(self._root)))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TOLERANCE
        solver = clarabel.DefaultSolver(
            _upper_triangle(penalty), -2 * linear, constraints.matrix, limits, cones, settings
        )
        answer = solver.solve()
        proportions, dual, slack = (np.asarray(each) for each in (answer.x, answer.z, answer.s))
        residual = max(
            np.abs(penalty @ proportions - 2 * linear + rows.T @ dual).max(),  # stationarity
            np.abs(rows @ proportions + slack - limits).max(),  # feasibility
            abs(float(slack @ dual)),  # complementarity
        )
        return self.figures(proportions.clip(min=0) / proportions.clip(min=0).sum(), float(residual))

    def figures(self, proportions: Array, residual: float = 0.0) -> Mixture:
        """MSE and DPVar of given proportions, (candidate,)."""
        mse = float(proportions @ self.gram @ proportions - 2 * self.cross @ proportions + self.mean_square)
        return Mixture(proportions, mse, float(proportions @ self.disparity @ proportions), residual)


def _upper_triangle(matrix: Array) -> sparse.csc_matrix:
    """Of a symmetric matrix, without its zeros. Most matrices have none; SciPy checks the places of entries for as long
    as a small programme takes to solve.
    """
    row, column, places = _places(len(matrix), (np.triu(matrix) != 0).tobytes())
    triangle = copy(places)
    triangle.data = matrix[row, column]
    return triangle


@lru_cache(maxsize=64)
def _places(count: int, filled: bytes) -> tuple[Index, Index, sparse.csc_matrix]:
    """Row and column of each entry, and a matrix with entries there, from what is filled, (row, column)."""
    column, row = np.nonzero(np.frombuffer(filled, dtype=np.bool_).reshape(count, count).T)
    starts = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=count))])
    places = sparse.csc_matrix((np.ones(len(row)), row, starts), shape=(count, count))
    places.has_canonical_format = True  # sorted, and none twice
    return row, column, places


def _length(ratio: float, share: float) -> float:
    """Of the linear term under a budget on the share, as a multiple of that without one."""
    return min(1 + ratio * share, _LONGEST)


def without_small_proportions(proportions: Array) -> Array:
    """The proportions with those below 0.001 set to zero, scaled to sum to 1."""
    kept = np.where(proportions < SMALLEST_PROPORTION, 0.0, proportions)
    result: Array = kept / kept.sum()
    return result

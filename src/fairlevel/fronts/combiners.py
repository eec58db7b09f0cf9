r"""From candidates to a model within a budget: mix them, by one convex programme, or take the best single one.

For candidates F (candidate, row) and mixtures f = wᵀF with w on the simplex, error and disparity are quadratic,

.. math:: \mathrm{MSE}(w) = w^\top G w - 2 q^\top w + \overline{y^2}, \qquad \mathrm{DPVar}(w) = w^\top K w,
          \qquad G = F W F^\top, \quad q = F W y,

so the best mixture for a weight of DPVar solves a quadratic programme, and the best mixture within a budget solves one
with a second-order cone. Clarabel (Goulart & Chen, 2024) solves both; a result says how far it is from optimal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, runtime_checkable

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import brentq

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.budget import DPVAR, SHARE, Budget

SMALLEST_PROPORTION = 1e-3  # models with a smaller one are left out of a mixture
_SMALLEST_DPVAR = 1e-6  # of a grid of budgets; Var(y) is 1
_TOLERANCE = 1e-9  # of the solver
_CONSTANT = 1e-12  # a prediction with at most this variance is constant
_SMALLEST_RATIO, _LARGEST_RATIO = 1e-2, 1e5  # r of :meth:`Mixing._within_share`
_RATIO_TOLERANCE = 4e-3  # of log r
_LARGEST_FACTOR = 2.0  # of the linear term there; a larger one would only push w to the edge of the simplex
_SHARE_TOLERANCE = 1e-6  # relative amount by which a share may be exceeded
_QUANTITIES = {DPVAR: "DPVar", SHARE: "share of DPVar in the variance"}


class OutOfReach(InvalidInput):
    """No choice of candidates is within the budget; ``smallest`` is the smallest value that one reaches."""

    def __init__(self, budget: Budget, smallest: float) -> None:
        quantity = _QUANTITIES[budget.name]
        super().__init__(f"A {quantity} of {budget.limit:.4g} is out of reach; the smallest one is {smallest:.4g}.")
        self.smallest = smallest


@dataclass(frozen=True)
class Mixture:
    """Proportions w (candidate,) of a mixture, its MSE, DPVar and variance, and the largest violation of the optimality
    conditions.
    """

    proportions: Array
    mse: float
    dpvar: float
    variance: float
    residual: float = 0.0

    @property
    def share(self) -> float:
        """DPVar as a share of the variance; 0 for a constant."""
        return self.dpvar / self.variance if self.variance > _CONSTANT else 0.0

    def used_by(self, name: str) -> float:
        """How much of a budget of this name it uses."""
        return self.share if name == SHARE else self.dpvar


class CandidateChoice(ABC):
    """Candidates measured on some rows, from which a model can be chosen for any budget. Var(y) is 1."""

    @abstractmethod
    def within(self, budget: Budget) -> Mixture:
        """The most accurate choice within the budget; raises :class:`OutOfReach` if there is none."""

    @abstractmethod
    def smallest(self, name: str) -> float:
        """The smallest value that a budget of this name can have."""

    @abstractmethod
    def figures(self, proportions: Array) -> Mixture:
        """MSE, DPVar and variance of given proportions, (candidate,)."""

    @cached_property
    def most_accurate(self) -> Mixture:
        """Whatever its DPVar."""
        return self.within(Budget(DPVAR, np.inf))

    def nearest(self, budget: Budget) -> Mixture:
        """The most accurate choice within the budget, which is raised to just above the smallest value where it is
        smaller.
        """
        reachable = self.smallest(budget.name) * (1 + 1e-2) + 1e-9
        return self.within(replace(budget, limit=max(budget.limit, reachable)))

    def grid(self, name: str, count: int, largest_dpvar: float = np.inf) -> list[Budget]:
        """Budgets evenly spaced in the root, from the smallest value to that of the most accurate choice with a DPVar
        of at most ``largest_dpvar``. The last one has no limit: on some folds the most accurate choice has more
        disparity than on all rows, and a limit would be measured instead of it.
        """
        smallest, last = self.smallest(name), self.nearest(Budget(DPVAR, largest_dpvar)).used_by(name)
        roots = np.linspace(np.sqrt(min(max(smallest, _SMALLEST_DPVAR), last)), np.sqrt(last), count)
        return [*(Budget(name, float(root) ** 2) for root in roots[:-1]), Budget(name, np.inf)]


@runtime_checkable
class Combiner(Protocol):
    """How a model is made from candidates."""

    def over(self, predictions: Array, target: Array, weight: Array, disparity: Array) -> CandidateChoice:
        """Measure candidates: predictions (candidate, row), target (row,), weights of the rows that sum to 1, (row,),
        and disparity K (candidate, candidate), with which DPVar of the mixture with proportions w is wᵀKw.
        """


@dataclass(frozen=True)
class Stacked:
    """Mixtures of candidates, by the convex programme of :mod:`fairlevel.fronts.combiners`."""

    ridge: float = 1e-3

    def __post_init__(self) -> None:
        if not 0 <= self.ridge < np.inf:
            raise InvalidInput(f"ridge={self.ridge} was given; a finite number ≥ 0 is needed, such as 0.001.")

    def over(self, predictions: Array, target: Array, weight: Array, disparity: Array) -> Mixing:
        return Mixing.of(predictions, target, weight, disparity, self.ridge)


@dataclass(frozen=True)
class Best:
    """Single candidates, without mixing."""

    def over(self, predictions: Array, target: Array, weight: Array, disparity: Array) -> Picking:
        variance = (predictions - (predictions @ weight)[:, None]) ** 2 @ weight
        return Picking((predictions - target) ** 2 @ weight, np.diag(disparity).clip(min=0), variance)


@dataclass(frozen=True)
class Picking(CandidateChoice):
    """Error, disparity and variance of single candidates, each (candidate,)."""

    mse: Array
    dpvar: Array
    variance: Array

    def within(self, budget: Budget) -> Mixture:
        used = self._used_by(budget.name)
        allowed = used <= budget.limit
        if not allowed.any():
            raise OutOfReach(budget, float(used.min()))
        proportions = np.zeros(len(self.mse))
        proportions[int(np.where(allowed, self.mse, np.inf).argmin())] = 1.0
        return self.figures(proportions)

    def smallest(self, name: str) -> float:
        return float(self._used_by(name).min())

    def figures(self, proportions: Array) -> Mixture:
        best = int(proportions.argmax())
        if proportions[best] != 1:
            raise ValueError("Single candidates are picked here; a mixture of several has other figures.")
        return Mixture(proportions, *(float(figure[best]) for figure in (self.mse, self.dpvar, self.variance)))

    def _used_by(self, name: str) -> Array:
        if name == DPVAR:
            return self.dpvar
        return np.divide(self.dpvar, self.variance, out=np.zeros_like(self.dpvar), where=self.variance > _CONSTANT)


@dataclass(frozen=True)
class Mixing(CandidateChoice):
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
        return cls(
            gram=(predictions * weight) @ predictions.T,
            cross=predictions @ (weight * target),
            mean=predictions @ weight,
            mean_square=float(weight @ target**2),
            disparity=(vectors * values.clip(min=0)) @ vectors.T,
            ridge=ridge,
        )

    def figures(self, proportions: Array) -> Mixture:
        mse = float(proportions @ self.gram @ proportions - 2 * self.cross @ proportions + self.mean_square)
        dpvar, variance = (float(proportions @ form @ proportions) for form in (self.disparity, self._variance))
        return Mixture(proportions, mse, dpvar, variance)

    def weighted(self, zeta: float) -> Mixture:
        r"""min over the simplex of MSE(w) + ζ DPVar(w) + ridge ‖w‖²."""
        if not 0 <= zeta < np.inf:
            raise InvalidInput(f"zeta={zeta} was given; a finite number ≥ 0 is needed.")
        return self._solve(self.gram + zeta * self.disparity, self.cross)

    def within(self, budget: Budget) -> Mixture:
        r"""min over the simplex of MSE(w) + ridge ‖w‖² subject to the budget, exactly."""
        if self.most_accurate.used_by(budget.name) <= budget.limit:
            return self.most_accurate
        return self._within_share(budget) if budget.name == SHARE else self._within_dpvar(budget)

    def smallest(self, name: str) -> float:
        return self._smallest_share if name == SHARE else self._smallest_dpvar

    def _within_dpvar(self, budget: Budget) -> Mixture:
        if budget.limit < self._smallest_dpvar * (1 + 1e-6):
            raise OutOfReach(budget, self._smallest_dpvar)
        return self._solve(self.gram, self.cross, budget=budget.limit)

    def _within_share(self, budget: Budget) -> Mixture:
        r"""DPVar(w) ≤ share · Var(w).

        Shrinking f to a constant does not change its share, so this is not a budget on DPVar in other words. With
        G = V + mmᵀ, where Var(w) = wᵀVw and m holds the means of the candidates, and a multiplier μ, the Lagrangian
        has the quadratic part (1 − μ share) V + mmᵀ + μK. Divided by 1 − μ share, and with r = μ / (1 − μ share), it is

        .. math:: V + (1 + r\,\mathrm{share})\, m m^\top + r K, \qquad
                  \text{and its linear term } -2 (1 + r\,\mathrm{share})\, q .

        The constraint is not convex, but this is convex for every r. The share falls with r: the smallest r that keeps
        the share is searched for.
        """
        share, low, high = budget.limit, float(np.log(_SMALLEST_RATIO)), float(np.log(_LARGEST_RATIO))
        mixtures: dict[float, Mixture] = {}  # by log r
        if _linear_factor(_LARGEST_RATIO, share) == _LARGEST_FACTOR:
            mixtures[high] = self._at_largest_ratio

        def excess(log_ratio: float) -> float:
            if log_ratio not in mixtures:
                mixtures[log_ratio] = self._at_ratio(float(np.exp(log_ratio)), share)
            return float(np.log(max(mixtures[log_ratio].share, 1e-12) / share)) - _SHARE_TOLERANCE

        if excess(high) > 0:
            raise OutOfReach(budget, mixtures[high].share)
        if excess(low) > 0:
            brentq(excess, low, high, xtol=_RATIO_TOLERANCE)
        return mixtures[min(log_ratio for log_ratio in mixtures if excess(log_ratio) <= 0)]

    @cached_property
    def most_accurate(self) -> Mixture:
        return self._solve(self.gram, self.cross)

    @cached_property
    def _smallest_dpvar(self) -> float:
        return self._solve(self.disparity, np.zeros(len(self.cross)), ridge=1e-9).dpvar

    @cached_property
    def _smallest_share(self) -> float:
        return self._at_ratio(_LARGEST_RATIO, 1e-3).share

    @cached_property
    def _variance(self) -> Array:
        """V with Var(w) = wᵀVw, (candidate, candidate)."""
        variance: Array = self.gram - np.outer(self.mean, self.mean)
        return variance

    @cached_property
    def _at_largest_ratio(self) -> Mixture:
        """The same for every share whose linear term has the largest factor there."""
        return self._at_ratio(_LARGEST_RATIO, 1.0)

    def _at_ratio(self, ratio: float, share: float) -> Mixture:
        """The minimum of the Lagrangian of :meth:`_within_share`, rescaled."""
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
        return replace(self.figures(only_constant + scale * direction), residual=mixture.residual)

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
        proportions, dual, slack = (np.asarray(vector) for vector in (answer.x, answer.z, answer.s))
        residual = max(
            np.abs(hessian @ proportions - 2 * linear + constraints.T @ dual).max(),  # stationarity
            np.abs(constraints @ proportions + slack - limits).max(),  # feasibility
            abs(float(slack @ dual)),  # complementarity
        )
        positive = proportions.clip(min=0)
        return replace(self.figures(positive / positive.sum()), residual=float(residual))

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
        positive = values > 1e-12 * max(values.max(), 1e-300)
        root: Array = (vectors[:, positive] * np.sqrt(values[positive])).T
        return root


def _linear_factor(ratio: float, share: float) -> float:
    """1 + r · share, the factor of the linear term in :meth:`Mixing._within_share`, at most ``_LARGEST_FACTOR``."""
    return min(1 + ratio * share, _LARGEST_FACTOR)


def without_small_proportions(proportions: Array) -> Array:
    """The proportions with those below 0.001 set to zero, scaled to sum to 1."""
    large = np.where(proportions < SMALLEST_PROPORTION, 0.0, proportions)
    result: Array = large / large.sum()
    return result

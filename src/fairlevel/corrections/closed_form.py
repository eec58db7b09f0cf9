r"""Changing a model that exists as little as possible until E[f|A] varies little, in closed form.

With f0 the predictions of the model, Φ̃ columns that may be added to it (centred, so that the mean of f stays), and
P = W B d BᵀW, with which fᵀPf is the variance of f that functions of A explain,

.. math:: \min_u \; \lVert \tilde\Phi u \rVert_W^2 + \alpha\, f^\top P f + \rho \tau \lVert u \rVert^2,
          \qquad f = f_0 + \tilde\Phi u, \qquad \tau = \operatorname{tr}(G) / \text{columns} .

No labels are needed: f0 stands for E[Y|X]. With G = Φ̃ᵀWΦ̃, M = G + ρτI, C = Φ̃ᵀWB√d (column, function) and
c0 = √d BᵀW f0, the solution is u = −α M⁻¹C (I + αK)⁻¹ c0 with K = CᵀM⁻¹C, whose size is the number of functions
of A: one factorisation of M and one eigendecomposition of K give all α.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from fairlevel.arrays import Array
from fairlevel.conditional_mean import RandomFeaturesMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics.choice import tuned_mean

LEFT = (0.75, 0.55, 0.4, 0.27, 0.17, 0.1, 0.055, 0.025, 0.01, 0.003)
"""Shares of fᵀPf that the corrections of a path leave, from the least change to the most level."""

RIDGES = (1e-3, 3e-2, 1.0)
"""ρ: a path for each."""

FARTHEST = 4.0
"""Variances of f0 that a correction may change predictions by. The constant, one variance away, is level; a small share
of the variance is sometimes found farther away."""

NEGLIGIBLE = 1e-2  # functions of A that the ridge shrinks to less than this share of the first one are left out


@dataclass(frozen=True)
class Disparity:
    """The functions of A behind fᵀPf. Shapes: functions WB√d (row, function), row_weight (row,)."""

    functions: Array
    row_weight: Array

    @classmethod
    def of(cls, prediction: Array, attributes: Attributes, seed: int) -> Disparity:
        """With the ridge that cross-validates best for this prediction, (row,)."""
        mean: Any = tuned_mean(RandomFeaturesMean(), attributes, prediction - attributes.weight @ prediction, seed)
        ridge = float(mean.ridge)
        smoother = mean.prepare(attributes, seed=seed).trimmed(ridge, NEGLIGIBLE)
        functions = smoother.functions.written_out() * np.sqrt(smoother.shrinkage(ridge))
        return cls(functions * attributes.weight[:, None], attributes.weight)

    def coefficients(self, prediction: Array) -> Array:
        """c = √d BᵀW f, (function,), with fᵀPf = |c|²."""
        return np.asarray(prediction @ self.functions)


def gram(columns: Any, weight: Array) -> Array:
    """G = Φ̃ᵀWΦ̃ with centred columns, for row weights (row,) of any sum: (column, column)."""
    mean: Array = columns.T @ weight / weight.sum()
    if hasattr(columns, "toarray"):
        product = (columns.T.multiply(weight) @ columns).toarray()
        return np.asarray(product - weight.sum() * np.outer(mean, mean))
    centred = np.sqrt(weight)[:, None] * (columns - mean)
    return np.asarray(centred.T @ centred)


def spanned_by_rows(columns: Any) -> tuple[Any, Array | None]:
    """Where columns outnumber rows, Z with Φ = Z Qᵀ, as many columns as rows can tell apart, (row, direction), and what
    gives Q = Φᵀ turn, (row, direction), which is never written out: coefficients z of Z are Qz of Φ, as long as z.
    """
    rows, count = columns.shape
    if count <= rows:
        return columns, None
    products = columns @ columns.T
    squares, vectors = np.linalg.eigh(products.toarray() if hasattr(products, "toarray") else products)
    told_apart = squares > 1e-12 * squares[-1]
    sizes = np.sqrt(squares[told_apart])
    return vectors[:, told_apart] * sizes, vectors[:, told_apart] / sizes


def typical_size(matrix: Array) -> float:
    """τ = tr(G) / columns, what a ridge is a multiple of."""
    return max(float(np.trace(matrix)) / len(matrix), 1e-300)


def solver(matrix: Array, added: float) -> Callable[[Array], Array]:
    """M⁻¹ = (G + added · I)⁻¹ as a function of a right-hand side: (column,) or (column, side)."""
    return partial(cho_solve, cho_factor(matrix + added * np.eye(len(matrix)), lower=True))


@dataclass(frozen=True)
class CorrectionPath:
    """The corrections u(α) for one ridge. Shapes: solved M⁻¹CV (column, direction), eigenvalues of K (direction,),
    start Vᵀc0 (direction,).

    ``farthest`` is the largest mean squared change of the predictions, |Φ̃u|²_W. Columns that hardly reach some function
    of A would go far beyond it. ``added`` is ρτ.
    """

    solved: Array
    eigenvalues: Array
    start: Array
    added: float
    farthest: float = np.inf

    @classmethod
    def all(
        cls, columns: Any, prediction: Array, disparity: Disparity, ridges: Sequence[float]
    ) -> list[CorrectionPath]:
        """One path per ridge ρ."""
        weight, start = disparity.row_weight, disparity.coefficients(prediction)
        matrix, crossed = gram(columns, weight), columns.T @ disparity.functions
        farthest = float(FARTHEST * weight @ (prediction - weight @ prediction) ** 2)
        return [cls.of(matrix, ridge * typical_size(matrix), crossed, start, farthest) for ridge in ridges]

    @classmethod
    def of(cls, matrix: Array, added: float, crossed: Array, start: Array, farthest: float = np.inf) -> CorrectionPath:
        """From G, ρτ, C (column, function) and c0 (function,). K maps all functions to combinations of the rows of C,
        so that only these and c0 are decomposed where columns are few.
        """
        columns, functions = crossed.shape
        solved, few = solver(matrix, added)(crossed), columns + 1 < functions
        # (function, direction)
        reached = np.linalg.qr(np.column_stack([crossed.T, start]))[0] if few else np.eye(functions)
        inner = (crossed @ reached).T @ (solved @ reached)
        eigenvalues, vectors = np.linalg.eigh((inner + inner.T) / 2)
        turned = reached @ vectors
        return cls(solved @ turned, eigenvalues.clip(min=0), turned.T @ start, added, farthest)

    @cached_property
    def largest(self) -> float:
        """fᵀPf before any correction."""
        return float(self.start @ self.start)

    def left(self, alphas: Array) -> Array:
        """fᵀPf after the correction, as a share of that before, (alpha,)."""
        shrunk = self.start / (1 + alphas[:, None] * self.eigenvalues)
        return np.asarray((shrunk**2).sum(axis=1) / max(self.largest, 1e-300))

    def changes(self, alphas: Array) -> Array:
        """|Φ̃u|²_W = uᵀMu − ρτ|u|², how far each correction moves the predictions, (alpha,)."""
        steps = self._steps(alphas)
        return np.asarray(steps**2 @ self.eigenvalues - self.added * ((steps @ self.solved.T) ** 2).sum(axis=1))

    def coefficients(self, shares: Sequence[float] = LEFT) -> Array:
        """u for the α that leave these shares of fᵀPf, or as little as the columns can: (share, column)."""
        return np.asarray(-self._steps(self.alphas(shares)) @ self.solved.T)

    def alphas(self, shares: Sequence[float] = LEFT) -> Array:
        """The α that leave these shares of fᵀPf, or as little as the columns can without moving too far, (share,)."""
        grid = np.logspace(-4, 9, 400)
        if self.largest == 0:  # nothing to remove
            return np.full(len(shares), grid[0])
        too_far = self.changes(grid) > self.farthest
        grid = grid[: max(int(too_far.argmax()), 1)] if too_far.any() else grid
        left = self.left(grid)
        return np.asarray(np.exp(np.interp(-np.log(np.array(shares)), -np.log(left), np.log(grid))))

    def _steps(self, alphas: Array) -> Array:
        """α (I + αK)⁻¹ c0 along the eigenvectors of K, (alpha, direction)."""
        return np.asarray(alphas[:, None] / (1 + alphas[:, None] * self.eigenvalues) * self.start)

r"""Changing a model that exists as little as possible until its average prediction is level, in closed form.

With f0 the predictions of the model, Φ̃ columns that may be added to it (centred, so that the mean of f stays), and
P = B d BᵀW the share of f that functions of A explain,

.. math:: \min_u \; \lVert \tilde\Phi u \rVert_W^2 + \alpha\, f^\top P f + \rho \tau \lVert u \rVert^2,
          \qquad f = f_0 + \tilde\Phi u, \qquad \tau = \operatorname{tr}(G) / \text{columns} .

No labels are needed: f0 stands for E[Y|X]. With G = Φ̃ᵀWΦ̃, M = G + ρτI, C = Φ̃ᵀWB√d (column, function) and
c0 = √d BᵀW f0, the solution is u = −α M⁻¹C (I + αK)⁻¹ c0 with K = CᵀM⁻¹C, which is only as large as the functions of A
are many: one factorisation of M and one eigendecomposition of K give all α.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import torch
from scipy.linalg import cho_factor, cho_solve

from fairlevel.arrays import Array, Index
from fairlevel.conditional_mean import LinearMean, RandomFeaturesMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.trees.protocol import Leaves

LEFT = (0.75, 0.55, 0.4, 0.27, 0.17, 0.1, 0.055, 0.025, 0.01, 0.003)
"""Shares of fᵀPf that the corrections of a path leave, from the least change to the most level."""

NEGLIGIBLE = 1e-2  # functions of A that the ridge shrinks to less than this share of the first one are left out


class Columns(Protocol):
    """Columns Φ that may be added to the predictions of a model."""

    def take(self, rows: Index) -> Self:
        """The same columns on some of the rows."""

    def gram(self, weight: Array) -> Array:
        """Φ̃ᵀWΦ̃, (column, column), for row weights that sum to 1, (row,)."""

    def cross(self, functions: Array) -> Array:
        """Φᵀ times functions (row, function) -> (column, function)."""

    def apply(self, coefficients: Array) -> Array:
        """Φ u, (candidate, column) -> (candidate, row)."""


@dataclass(frozen=True)
class DenseColumns:
    """Columns as a matrix: what each tree adds, for example. Shapes: values (row, column)."""

    values: Array

    def take(self, rows: Index) -> DenseColumns:
        return DenseColumns(self.values[rows])

    def gram(self, weight: Array) -> Array:
        centred = self.values - weight @ self.values
        gram: Array = (centred * weight[:, None]).T @ centred
        return gram

    def cross(self, functions: Array) -> Array:
        crossed: Array = self.values.T @ functions
        return crossed

    def apply(self, coefficients: Array) -> Array:
        applied: Array = coefficients @ self.values.T
        return applied


@dataclass(frozen=True)
class LeafColumns:
    """One column of zeros and ones per leaf of every tree, kept as numbers of leaves.

    Shapes: leaves (row, tree), counted within each tree; first (tree + 1,), the first column of each tree.
    """

    leaves: Leaves
    first: Index

    @classmethod
    def of(cls, leaves: Leaves, sizes: Sequence[int]) -> LeafColumns:
        """From numbers of leaves and the number of leaves of each tree."""
        return cls(np.asfortranarray(leaves), np.concatenate([[0], np.cumsum(sizes)]))

    def take(self, rows: Index) -> LeafColumns:
        return LeafColumns(np.asfortranarray(self.leaves[rows]), self.first)

    def gram(self, weight: Array) -> Array:
        """Tables of two trees each: how much weight falls into a leaf of the one and a leaf of the other."""
        count, (rows, trees) = int(self.first[-1]), self.leaves.shape
        gram, mean = np.empty((count, count)), np.empty(count)
        equal = bool(np.ptp(weight) == 0)
        for tree in range(trees):
            mean[self._part(tree)] = np.bincount(self.leaves[:, tree], weight, self._size(tree))
        for one in range(trees):
            coded = self.leaves[:, one].astype(np.int64)
            for other in range(one + 1):
                joint = coded * self._size(other) + self.leaves[:, other]
                cells = self._size(one) * self._size(other)
                table = np.bincount(joint, minlength=cells) / rows if equal else np.bincount(joint, weight, cells)
                block = table.reshape(self._size(one), -1)
                gram[self._part(one), self._part(other)] = block
                gram[self._part(other), self._part(one)] = block.T
        gram -= np.outer(mean, mean)
        return gram

    def cross(self, functions: Array) -> Array:
        crossed = np.empty((int(self.first[-1]), functions.shape[1]))
        for tree in range(self.leaves.shape[1]):
            order = np.argsort(self.leaves[:, tree], kind="stable")
            counts = np.bincount(self.leaves[:, tree], minlength=self._size(tree))
            starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
            filled = counts > 0
            own = np.zeros((self._size(tree), functions.shape[1]))
            own[filled] = np.add.reduceat(functions[order], starts[filled], axis=0)
            crossed[self._part(tree)] = own
        return crossed

    def apply(self, coefficients: Array) -> Array:
        total = np.zeros((len(coefficients), len(self.leaves)))
        for tree in range(self.leaves.shape[1]):
            total += coefficients[:, self._part(tree)][:, self.leaves[:, tree]]
        return total

    def _size(self, tree: int) -> int:
        return int(self.first[tree + 1] - self.first[tree])

    def _part(self, tree: int) -> slice:
        return slice(int(self.first[tree]), int(self.first[tree + 1]))


@dataclass(frozen=True)
class Disparity:
    """The functions of A behind fᵀPf. Shapes: functions WB√d (row, function), row_weight (row,)."""

    functions: Array
    row_weight: Array

    @classmethod
    def of(cls, prediction: Array, attributes: Attributes, seed: int, mean: LinearMean | None = None) -> Disparity:
        """With the ridge that cross-validates best for this prediction, (row,)."""
        smoother = (mean or RandomFeaturesMean()).prepare(attributes, seed=seed)
        ridge = float(smoother.choose_ridge(torch.from_numpy(prediction - attributes.weight @ prediction)[None]))
        smoother = smoother.trimmed(ridge, NEGLIGIBLE)
        shrinkage = smoother.shrinkage(ridge)[smoother.nuisance :]
        functions = smoother.weighted_basis[:, smoother.nuisance :] * shrinkage.sqrt()
        return cls(functions.numpy(), attributes.weight)

    def coefficients(self, prediction: Array) -> Array:
        """c = √d BᵀW f, (function,), with fᵀPf = |c|²."""
        found: Array = prediction @ self.functions
        return found


@dataclass(frozen=True)
class CorrectionPath:
    """The corrections u(α) for one ridge. Shapes: solved M⁻¹CV (column, function), eigenvalues of K (function,), start
    Vᵀc0 (function,).
    """

    solved: Array
    eigenvalues: Array
    start: Array

    @classmethod
    def all(
        cls, columns: Columns, prediction: Array, disparity: Disparity, ridges: Sequence[float]
    ) -> list[CorrectionPath]:
        """One path per ridge ρ."""
        gram = columns.gram(disparity.row_weight)
        crossed, start = columns.cross(disparity.functions), disparity.coefficients(prediction)
        scale = max(float(np.trace(gram)) / len(gram), 1e-300)
        paths, added = [], 0.0
        for ridge in ridges:
            gram[np.diag_indices_from(gram)] += ridge * scale - added
            added = ridge * scale
            last = ridge == ridges[-1]
            square: Any = gram
            solved: Array = cho_solve(cho_factor(square, lower=True, overwrite_a=last, check_finite=False), crossed)
            eigenvalues, vectors = np.linalg.eigh(crossed.T @ solved)
            paths.append(cls(solved @ vectors, eigenvalues.clip(min=0), vectors.T @ start))
        return paths

    @cached_property
    def largest(self) -> float:
        """fᵀPf before any correction."""
        return float(self.start @ self.start)

    def left(self, alphas: Array) -> Array:
        """fᵀPf after the correction, as a share of that before, (alpha,)."""
        shrunk = self.start / (1 + alphas[:, None] * self.eigenvalues)
        found: Array = (shrunk**2).sum(axis=1) / max(self.largest, 1e-300)
        return found

    def coefficients(self, shares: Sequence[float] = LEFT) -> Array:
        """u for the α that leave these shares of fᵀPf, or as little as the columns can: (share, column)."""
        grid = np.logspace(-4, 9, 400)
        left = self.left(grid)
        alphas = np.exp(np.interp(-np.log(np.array(shares)), -np.log(left), np.log(grid)))
        steps = alphas[:, None] / (1 + alphas[:, None] * self.eigenvalues) * self.start
        found: Array = -steps @ self.solved.T
        return found

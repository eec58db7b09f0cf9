r"""A linear smoother h = S f, factored once for every prediction that will ever be smoothed.

With row weights W = diag(w), Σw = 1, functions come in three parts: nuisance functions N (the constant, or the constant
and functions of legitimate factors L), free functions of A and penalised ones. The nuisance functions are
orthonormalised, the free part is made orthogonal to them, the penalised part to both, and diagonalised. That leaves
functions B with BᵀWB = I, BᵀWN = 0 and

.. math:: S_\lambda = N N^\top W + B \operatorname{diag}(d) B^\top W, \qquad
          d_j = 1 \text{ (free)}, \quad d_j = s_j / (s_j + \lambda) \text{ (penalised)} .

Any ridge λ is then a diagonal. Only what B explains is disparity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from fairlevel.arrays import Array, Flags, Index
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.threads import map_on_single_threads

RIDGES: Array = np.append(np.logspace(-7, 2, 28), np.inf)
"""The ridges to choose from; infinity leaves the free part alone."""
MANY_ROWS = 100_000
"""Above so many rows functions are stored in 32 bits, and made in blocks."""
RANK_TOLERANCE = 1e-10  # directions with less than this share of the largest second moment are rounding errors
HIGH_LEVERAGE = 0.9  # above it a row all but determines its own fit
LEAST_LEFT_OUT = 0.02
"""1 − S_ii, or the eigenvalues of I − S_gg of a group, count as at least this when ridges are compared."""
_BLOCK = 4_096  # rows at a time, whose functions stay in cache


class Features(NamedTuple):
    """Functions of A at some rows: free ones, which are never shrunk, and penalised ones, (row, function) each.

    Where many free functions are indicators, ``level`` has the level of each row, (row,), −1 for none, of ``levels`` in
    all. ``given`` are functions of legitimate factors, which stand beside them.
    """

    free: Array
    penalised: Array
    level: Index | None = None
    levels: int = 0
    given: Array | None = None

    @property
    def together(self) -> Array:
        """All columns, those of factors first, (row, feature)."""
        return np.hstack([*([] if self.given is None else [self.given]), self.free, self.penalised])


MakesFeatures = Callable[[Attributes], Features]
"""The features of any rows, fitted on some."""


@dataclass(frozen=True)
class Functions:
    r"""Orthonormal functions at rows: the indicators of levels, over the root of the level's weight, then columns.

    Indicators are not written out, and not centred: their products are meant for predictions with mean 0, for which
    both is the same. Shapes: columns (row, column); level, the number of each row's level, −1 for none, (row,); scale,
    :math:`p^{-1/2}` for the weight p of each level, (level,).
    """

    columns: Array
    level: Index | None = None
    scale: Array = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def count(self) -> int:
        return len(self.scale) + self.columns.shape[1]

    @cached_property
    def indicators(self) -> csr_array:
        """Of levels, not centred, (row, level)."""
        if self.level is None:
            return csr_array((len(self), 0))
        known = np.flatnonzero(self.level >= 0)
        levels = self.level[known]
        return csr_array((self.scale[levels], (known, levels)), shape=(len(self), len(self.scale)))

    def take(self, rows: slice | Index) -> Functions:
        """At some of the rows."""
        return Functions(self.columns[rows], None if self.level is None else self.level[rows], self.scale)

    def sums(self, values: Array) -> Array:
        """Σ_i v_i b_i: (config, row) -> (config, function)."""
        of_columns = values @ self.columns
        return of_columns if self.level is None else np.hstack([values @ self.indicators, of_columns])

    def combined(self, coefficients: Array) -> Array:
        """Σ_j c_j b_j at each row: (…, function) -> (…, row)."""
        levels = len(self.scale)
        values: Array = coefficients[..., levels:] @ self.columns.T
        if self.level is not None:
            of_levels = coefficients[..., :levels].reshape(-1, levels) @ self.indicators.T
            values += of_levels.reshape(values.shape)
        return values

    def squares(self, weights: Array) -> Array:
        """Σ_j q_j b_j² at each row: (…, function) -> (…, row). All levels have the same weight q."""
        levels = len(self.scale)
        of_columns, result = weights[..., levels:].T, np.empty((*weights.shape[:-1], len(self)))
        for start in range(0, len(self), _BLOCK):
            rows = slice(start, start + _BLOCK)
            result[..., rows] = (np.square(self.columns[rows], dtype=np.float64) @ of_columns).T
        if self.level is not None:  # centred indicators have the sum of squares 1 / p − 1
            result += weights[..., :1] * (self.scale**2 - 1)[self.level]
        return result

    def within(self, rows: Index, weights: Array) -> Array:
        """B_u diag(q) B_uᵀ of sets of rows of the same size: (set, row of the set) -> (set, row, row)."""
        columns = self.columns[rows]
        products: Array = (columns * weights[len(self.scale) :]) @ columns.transpose(0, 2, 1)
        if self.level is not None:
            level = self.level[rows]
            same = level[:, :, None] == level[:, None, :]
            products += weights[0] * (same * np.square(self.scale)[level][:, None, :] - 1)
        return products

    def written_out(self) -> Array:
        """All functions, with mean 0, (row, function)."""
        if self.level is None:
            return self.columns
        centred = self.indicators.toarray() - (self.level >= 0)[:, None] / self.scale
        return np.hstack([centred, self.columns])


@dataclass(frozen=True)
class LinearSmoother:
    """The factored smoother, and its functions at the rows that it was fitted on.

    Shapes: nuisance functions (row, nuisance), the constant 1 first; moments s of the penalised functions, falling
    (penalised function,); row_weight (row,) summing to 1. Predictions are (config, row). The functions at other rows
    are (features − mean) T for the features that ``makes`` returns, those of L first; mean at each level, or of all
    rows, (level or 1, feature), transform T (feature, function).
    """

    nuisance: Array
    functions: Functions
    moments: Array
    row_weight: Array
    makes: MakesFeatures
    mean: Array
    transform: Array

    @property
    def free(self) -> int:
        """How many of the functions of A, the first ones, are not penalised."""
        return self.functions.count - len(self.moments)

    @property
    def counts_constant(self) -> int:
        """1 where levels are counted: their indicators hold the constant, too."""
        return int(self.functions.level is not None)

    @cached_property
    def effective_rows(self) -> float:
        """Kish's effective number of rows, 1 / Σ w² (the number of rows when weights are equal)."""
        return float(1 / np.square(self.row_weight).sum())

    @property
    def spent_on_factors(self) -> float:
        """The share of the rows that functions of L cost, as degrees of freedom, at most a half."""
        return min((self.nuisance.shape[1] - 1) / self.effective_rows, 0.5)

    def at(self, rows: Attributes) -> tuple[Array, Functions]:
        """Nuisance functions (row, nuisance) and functions of A at other rows."""
        features, given = self.makes(rows), self.nuisance.shape[1] - 1
        mean = self.mean[0]
        if features.level is not None:  # −1, a level never seen, is the last one
            mean = np.vstack([self.mean, self.mean.mean(axis=0)])[features.level]
        functions = (features.together - mean) @ self.transform
        nuisance = np.hstack([np.ones((len(functions), 1)), functions[:, :given]])
        return nuisance, Functions(functions[:, given:], features.level, self.functions.scale)

    def shrinkage(self, ridge: Array | float) -> Array:
        """d_j for each ridge: (config,) -> (config, function); a number -> (function,)."""
        penalised = self.moments / (self.moments + np.asarray(ridge, dtype=np.float64)[..., None])
        return np.concatenate([np.ones((*penalised.shape[:-1], self.free)), penalised], axis=-1)

    def df(self, ridge: Array | float) -> Array:
        """Degrees of freedom, tr S."""
        total: Array = self.nuisance.shape[1] - self.counts_constant + self.shrinkage(ridge).sum(axis=-1)
        return total

    def beyond_nuisance(self, prediction: Array) -> Array:
        """f less its projection on the nuisance functions, (config, row); by default f less its weighted mean."""
        beyond: Array = prediction - ((prediction * self.row_weight) @ self.nuisance) @ self.nuisance.T
        return beyond

    def coefficients(self, prediction: Array) -> Array:
        """c = BᵀWf: (config, row) -> (config, function)."""
        return self.functions.sums(self.row_weight * self.beyond_nuisance(prediction))

    def apply(self, prediction: Array, ridge: Array | float) -> Array:
        """h = S f: (config, row) -> (config, row)."""
        beyond = self.beyond_nuisance(prediction)
        coefficients = self.functions.sums(self.row_weight * beyond)
        return prediction - beyond + self.functions.combined(coefficients * self.shrinkage(ridge))

    def predict(self, prediction: Array, ridge: Array | float, rows: Attributes) -> Array:
        """h at other rows: (config, row) -> (config, other row)."""
        nuisance, functions = self.at(rows)
        along = (prediction * self.row_weight) @ self.nuisance
        return along @ nuisance.T + functions.combined(self.coefficients(prediction) * self.shrinkage(ridge))

    def leverage(self, weights: Array) -> Array:
        """w_i Σ_j q_j b_ij², the diagonal of B diag(q) BᵀW: (…, function) -> (…, row)."""
        return self.functions.squares(weights) * self.row_weight

    @cached_property
    def nuisance_leverage(self) -> Array:
        """The same of the nuisance functions, (row,)."""
        leverage: Array = np.square(self.nuisance).sum(axis=1) * self.row_weight
        return leverage

    def trimmed(self, ridge: float, least: float) -> LinearSmoother:
        """Without the functions of which this ridge leaves less than ``least`` times what it leaves of the first
        penalised one: a smoother like any other, whose h differs by at most ``least`` times the spread of f.
        """
        penalised = self.shrinkage(ridge)[self.free :]
        count = int((penalised >= least * penalised[:1]).sum())  # moments fall
        dropped = len(self.moments) - count
        columns, transform = (each[:, : each.shape[1] - dropped] for each in (self.functions.columns, self.transform))
        functions = replace(self.functions, columns=columns)
        return replace(self, functions=functions, moments=self.moments[:count], transform=transform)

    def choose_ridge(self, prediction: Array, ridges: Array = RIDGES, cost: float = 1.0) -> Array:
        r"""The ridge with the smallest generalised cross-validation error, (config,); the largest of several.

        .. math:: \mathrm{GCV}(\lambda) =
                  \frac{\sum_i w_i (f_i - (S_\lambda f)_i)^2}{(1 - \kappa \operatorname{tr} S_\lambda / n)^2}

        ``cost`` is κ, the price of a degree of freedom.
        """
        tried = ridges[self.sensible(ridges, cost)][::-1]  # the largest first
        beyond = self.beyond_nuisance(prediction)
        energy = np.square(self.functions.sums(self.row_weight * beyond))
        rest = np.clip(np.square(beyond) @ self.row_weight - energy.sum(axis=1), 0, None)
        left = 1 - cost * self.df(tried) / self.effective_rows
        error = (rest[:, None] + energy @ np.square(1 - self.shrinkage(tried)).T) / np.square(left)
        return tried[error.argmin(axis=1)] if len(tried) else np.full(len(prediction), ridges[-1])

    def sensible(self, ridges: Array, cost: float) -> Flags:
        """Which ridges the choice may use, (ridge,). Too many degrees of freedom for the rows are refused. So are too
        few where every function of A is penalised: below four, or below half of the available ones, no disparity could
        be found.
        """
        df = self.df(ridges)
        least = min(4.0, len(self.moments) / 2) if self.free == 0 else 0.0
        penalised = self.shrinkage(ridges)[:, self.free :].sum(axis=1)
        fine: Flags = (cost * df < self.effective_rows) & (penalised >= least)
        return fine

    def leave_one_out(self, prediction: Array, ridges: Array, cost: float) -> Array:
        r"""Leave-one-out error of each ridge, (config, ridge): like :meth:`choose_ridge`, but with the leverage of each
        row in place of the average leverage.

        .. math:: \sum_i w_i \Big( \frac{f_i - (S_\lambda f)_i}{(1 - S_{ii})^\kappa} \Big)^2

        Where noise is largest at the edge of A, the average leverage is too small for those rows and noise is mistaken
        for structure. Functions of L are in every fit and do not count in S_ii: rows that they determine would decide
        the choice.
        """
        shrinkage, beyond = self.shrinkage(ridges), self.beyond_nuisance(prediction)
        towards = self.functions.sums(self.row_weight * beyond)[:, None] * shrinkage  # (config, ridge, function)
        errors = np.zeros((len(prediction), len(ridges)))
        for start in range(0, len(self.row_weight), _BLOCK):
            rows = slice(start, start + _BLOCK)
            functions, weight = self.functions.take(rows), self.row_weight[rows]
            left_out = np.clip(1 - (1 + functions.squares(shrinkage)) * weight, LEAST_LEFT_OUT, None)  # (ridge, row)
            residual = beyond[:, None, rows] - functions.combined(towards)
            errors += np.einsum("crn,rn->cr", np.square(residual, out=residual), weight / left_out ** (2 * cost))
        return errors


def factor(makes: MakesFeatures, rows: Attributes) -> LinearSmoother:
    """The smoother of these features on these rows; functions that are linear combinations of others are dropped.

    All follows from the second moments of the features, which are summed up block by block.
    """
    weight, many = rows.weight, len(rows) > MANY_ROWS
    first = makes(rows.part(slice(1)))
    given, free, levels = 0 if first.given is None else first.given.shape[1], first.free.shape[1], first.levels
    values = np.empty((len(rows), first.together.shape[1]), dtype=np.float32 if many else np.float64)
    level = np.empty(len(rows), dtype=np.int64) if levels else None

    def stored(part: slice) -> None:
        features = makes(rows.part(part))
        values[part] = features.together
        if level is not None and features.level is not None:
            level[part] = features.level

    def second(part: slice) -> Array:
        values[part] -= mean[0 if level is None else level[part]]
        scaled = np.sqrt(weight[part])[:, None] * values[part]
        moments: Array = scaled.T @ scaled
        return moments

    parts = [slice(start, min(start + _BLOCK, len(rows))) for start in range(0, len(rows), _BLOCK)]
    list(map_on_single_threads(stored, parts))
    size: Array = np.ones(1) if level is None else np.bincount(level, weight, levels).astype(np.float64)
    if level is None:
        mean = (weight @ values)[None]
    else:  # of each level
        sums = [np.bincount(level, weight * column, levels) for column in values.T]
        mean = np.reshape(sums, (values.shape[1], levels)).T / size[:, None]
    covariance = np.zeros((values.shape[1],) * 2)
    for moments in map_on_single_threads(second, parts):
        covariance += moments
    transform, moments, of_factors = orthonormal(covariance, free, given)
    columns = transform.astype(values.dtype)

    def functions(part: slice) -> None:
        values[part, : columns.shape[1]] = values[part] @ columns

    list(map_on_single_threads(functions, parts))
    nuisance = np.hstack([np.ones((len(rows), 1)), values[:, :of_factors]])
    scale = np.empty(0) if level is None else 1 / np.sqrt(size)
    of_attributes = Functions(values[:, of_factors : columns.shape[1]], level, scale)
    return LinearSmoother(nuisance, of_attributes, moments, weight, makes, mean, transform)


def orthonormal(covariance: Array, free: int, given: int = 0) -> tuple[Array, Array, int]:
    """T (feature, function), the moments of the penalised functions, falling, and how many functions are functions of
    L, from the covariance of (functions of L, free, penalised) features.
    """
    whiten_given, _ = _whitened(covariance[:given, :given])
    overlap = whiten_given.T @ covariance[:given, given:]
    rest, spread = covariance[given:, given:], 0.0
    if given and len(rest):  # what is left of a feature that L explains is small beside its spread before
        spread = float(rest.diagonal().max())
        rest = rest - overlap.T @ overlap
    whiten_free, _ = _whitened(rest[:free, :free], spread)
    beside = whiten_free.T @ rest[:free, free:]
    whiten, moments = (each[..., ::-1].copy() for each in _whitened(rest[free:, free:] - beside.T @ beside, spread))
    nothing = np.zeros((len(whiten), whiten_free.shape[1]))
    of_attributes = np.block([[whiten_free, -whiten_free @ beside @ whiten], [nothing, whiten]])
    nothing = np.zeros((len(of_attributes), whiten_given.shape[1]))
    transform = np.block([[whiten_given, -whiten_given @ overlap @ of_attributes], [nothing, of_attributes]])
    return transform, moments, whiten_given.shape[1]


def _whitened(covariance: Array, spread: float = 0.0) -> tuple[Array, Array]:
    """W with Wᵀ C W = 1, (feature, rank), and the moments of its directions, rising; rounding errors left out."""
    moments, vectors = np.linalg.eigh(covariance)
    kept = moments > RANK_TOLERANCE * max(moments.max(initial=0.0), spread)
    return vectors[:, kept] / np.sqrt(moments[kept]), moments[kept]

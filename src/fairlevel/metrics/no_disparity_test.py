r"""A test of DPVar = 0 that is valid when the noise differs from row to row.

With c = BᵀWf for the functions B of a conditional mean, and K = Σ_u s_u s_uᵀ the covariance of c when the conditional
mean is constant, each quadratic form Σ_j q_j c_j² is distributed like Σ_k λ_k χ²_1, with λ the eigenvalues of √q K √q.
Its tail is that of a multiple of χ² with the same first three moments, shifted (Imhof, Biometrika 1961; Liu, Tang &
Zhang, Computational Statistics & Data Analysis 2009):

.. math:: P\Big(\sum_k \lambda_k \chi^2_1 > t\Big) \approx
          P\Big(\chi^2_l > \frac{t - \tau_1}{\sqrt{2 \tau_2}} \sqrt{2 l} + l\Big), \qquad
          l = \frac{\tau_2^3}{\tau_3^2}, \quad \tau_m = \sum_k \lambda_k^m .

There is one form per conditional mean and roughness. Their p-values are combined by the Cauchy rule, which holds
however they depend on each other (Liu & Xie, JASA 2020). The noise of a row is its prediction less what the nuisance
functions, those of L included, explain, over √(1 − P_uu) with P their leverage.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import chdtrc

from fairlevel.arrays import Array
from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.metrics.choice import Candidate
from fairlevel.metrics.debiased import form_weights, left_out

_EXTRA_DF = (4.0, 16.0)
_LARGEST = 0.99  # p-value of a form: one near 1 would outweigh others however small


def p_value_of_no_disparity(prediction: Array, candidates: Sequence[Candidate]) -> float:
    """The test for one standardised prediction, (row,), with all functions of these candidates."""
    return _cauchy([p for candidate in candidates for p in _p_values(candidate, prediction)])


def _p_values(candidate: Candidate, prediction: Array) -> list[float]:
    """One for each roughness."""
    smoother, units = candidate.smoother, candidate.units
    ridges = _ridges_to_try(candidate.mean.ridge, smoother)
    if not ridges or not smoother.functions.count:
        return []
    centred = smoother.beyond_nuisance(prediction[None])
    squares = np.square(smoother.functions.sums(smoother.row_weight * centred)[0])
    noise = left_out(centred, smoother, np.zeros(smoother.functions.count), units, 0.5)[0]
    covariance = units.scores(smoother.functions, smoother.row_weight * noise).covariance()
    weights = form_weights(smoother.shrinkage(np.array(ridges)))
    return [tail(float(squares @ q), *covariance.traces(q)) for q in weights]


def _ridges_to_try(asked: float | None, smoother: LinearSmoother) -> list[float]:
    """The ridge asked for, or those at which the penalised part spends 0, 4, 16 or all degrees of freedom."""
    if asked is not None:
        return [asked]
    ridges, available = np.logspace(-9, 6, 61), len(smoother.moments)
    spent = smoother.shrinkage(ridges).sum(axis=1) - smoother.free
    chosen = [float(ridges[np.abs(spent - extra).argmin()]) for extra in _EXTRA_DF if extra < available]
    return [
        *([float("inf")] if smoother.free else []),  # the free part alone
        *chosen,
        *([0.0] if 0 < available <= max(_EXTRA_DF) else []),  # all functions
    ]


def tail(value: float, first: float, second: float, third: float) -> float:
    """P(Σ λ_k χ²_1 > value) from the sums of λ, λ² and λ³."""
    if second <= 0 or third <= 0:
        return 1.0 if value <= 0 else 0.0
    freedom = second**3 / third**2
    standardised = (value - first) / np.sqrt(2 * second)
    return float(chdtrc(freedom, max(standardised * np.sqrt(2 * freedom) + freedom, 0.0)))


def _cauchy(p_values: Sequence[float]) -> float:
    """One p-value from several that may depend on each other in any way; 1 where there are none."""
    if not p_values:
        return 1.0
    clipped = np.clip(p_values, 1e-300, _LARGEST)
    # tan((½ − p) π) = 1 / tan(p π), which keeps its digits where p is small
    statistic = float(np.mean(1 / np.tan(clipped * np.pi)))
    return float(np.arctan2(1.0, statistic) / np.pi)

r"""A confidence interval for DPVar that also holds near zero, and a test of DPVar = 0.

The estimate's variance is a function of the truth,

.. math:: V(\psi) = \frac{\kappa \psi^2 + b \psi}{n} + V_0, \qquad
          b = \frac{4\,\overline{r^2 h_c^2}}{\overline{h_c^2}}, \qquad
          \kappa = \frac{\operatorname{Var}(h_c^2)}{(\overline{h_c^2})^2} ,

the first part from the efficient influence function 2(f−h)(h−μ) + (h−μ)² − ψ, the second the degenerate part that is
left when h is constant. The interval holds every ψ ≥ 0 with (ψ̂ − ψ)² ≤ z² V(ψ), a quadratic inequality, up to the
upper limit of Var(f); it reaches down to 0 unless the test rejects. The test
compares the largest standardised off-diagonal quadratic form over regressors and roughnesses with its
multiplier-bootstrap distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import expit, logit
from scipy.stats import norm
from scipy.stats import t as student
from torch import Tensor

from fairlevel.arrays import Array
from fairlevel.conditional_mean import LinearMean, MLPMean
from fairlevel.conditional_mean.leave_out import kept_share, leave_out_dpvar, noise_scatter, null_variance
from fairlevel.conditional_mean.streamed import leave_out_streamed, stream
from fairlevel.exceptions import InvalidInput
from fairlevel.metrics.choice import Candidate, candidates, choose, suitable_means
from fairlevel.metrics.crossfit import covariance_form
from fairlevel.metrics.inputs import EvaluationRows, read_rows, read_seed

MANY_ROWS, SAMPLE = 150_000, 30_000
"""Beyond so many rows the conditional mean is chosen on a sample of them and computed block by block on all."""
_TEST_EXTRA_DF = (4.0, 16.0)
_TEST_DRAWS = 4000
_FLIPS = 8
_LEAST_DF = 0.5


@dataclass(frozen=True)
class DPVarInterval:
    """DPVar of a prediction with its uncertainty over the evaluation rows.

    ``estimate`` is unbiased and may fall below zero when the truth is near it; ``low`` and ``high`` never do.
    ``share`` is DPVar / Var(f) in [0, 1]. ``p_value`` tests DPVar = 0. What is found is the part of E[f|A] that
    ``regressor`` can describe.
    """

    estimate: float
    low: float
    high: float
    share: float
    share_low: float
    share_high: float
    p_value: float
    regressor: str
    level: float = 0.95


@dataclass(frozen=True)
class Evidence:
    """What an interval needs to know about one prediction; level and residual are (row,) and on the scale of Var(f) =
    1.
    """

    estimate: float
    level: Tensor
    residual: Tensor
    degenerate: float
    test: Callable[[], float]  # the p-value, on demand
    regressor: str
    informative: bool = True  # False where too few rows leave A no say: then nothing but DPVar ≤ Var(f) is known


def dpvar_interval(
    y_pred: Any,
    *,
    sensitive_features: Any,
    level: float = 0.95,
    regressor: LinearMean | MLPMean | None = None,
    sample_weight: Any = None,
    random_state: Any = 0,
) -> DPVarInterval:
    """Debiased DPVar with a confidence interval valid near zero, a test of DPVar = 0, and its share of Var(f).

    Parameters
    ----------
    y_pred : array of shape (rows,)
    sensitive_features : array or frame of shape (rows,) or (rows, attributes)
    level : confidence level of both intervals
    regressor : the conditional mean; by default splines, random features or groups, whichever describes the prediction
        best
    sample_weight : array of shape (rows,), optional
    random_state : seed of random features and of the test

    Returns
    -------
    DPVarInterval
    """
    if not 0 < level < 1:
        raise InvalidInput(f"level={level} was given; a number between 0 and 1 is needed, such as 0.95.")
    random_state = read_seed(random_state)
    rows = read_rows(y_pred, sensitive_features, sample_weight)
    if isinstance(regressor, MLPMean) and rows.spread > 0:
        scaled = torch.from_numpy((rows.prediction - rows.mean) / rows.spread)
        return _interval(_trained_evidence(scaled, rows, regressor, random_state), scaled, rows, level)
    linear = None if isinstance(regressor, MLPMean) else regressor
    if len(rows.prediction) > MANY_ROWS and rows.spread > 0:
        scaled = torch.from_numpy((rows.prediction - rows.mean) / rows.spread)
        return _interval(_streamed_evidence(scaled, rows, linear, random_state), scaled, rows, level)
    return _linear_interval(
        rows, candidates(rows.sensitive, rows.row_weight, random_state, linear), level, random_state
    )


@dataclass(frozen=True)
class Yardstick:
    """Smoothers of the attributes of some rows, prepared once, to measure any number of predictions on those rows.

    Shapes: sensitive (row, attribute); predictions (config, row).
    """

    sensitive: Array
    known: tuple[Candidate, ...]
    seed: int

    @classmethod
    def of(cls, sensitive: Array, seed: int) -> Yardstick:
        return cls(sensitive, candidates(sensitive, np.ones(len(sensitive)), seed, None), seed)

    def intervals(self, predictions: Array) -> list[DPVarInterval]:
        """The 95 % interval of each prediction."""
        return [
            _linear_interval(read_rows(prediction, self.sensitive, None), self.known, 0.95, self.seed)
            for prediction in predictions
        ]

    def errors(self, predictions: Array) -> tuple[Array, Array]:
        """The estimate of each prediction, at least 0, and its standard error upwards: two times (config,). No test is
        made, which is most of the work of an interval.
        """
        found = []
        for prediction in predictions:
            rows = read_rows(prediction, self.sensitive, None)
            if rows.spread == 0:
                found.append((0.0, 0.0))
                continue
            scaled = torch.from_numpy((rows.prediction - rows.mean) / rows.spread)
            evidence = _linear_evidence(scaled, self.known, self.seed)
            estimate, high = max(evidence.estimate, 0.0), _limits(evidence, scaled, rows, z=1.0)[1]
            found.append((estimate * rows.spread**2, (high - estimate) * rows.spread**2))
        estimates, errors = np.array(found).T
        return estimates, errors


def _linear_interval(rows: EvaluationRows, known: tuple[Candidate, ...], level: float, seed: int) -> DPVarInterval:
    if rows.spread == 0:
        return DPVarInterval(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, "none needed: the prediction is constant", level)
    scaled = torch.from_numpy((rows.prediction - rows.mean) / rows.spread)
    return _interval(_linear_evidence(scaled, known, seed), scaled, rows, level)


def _linear_evidence(prediction: Tensor, known: tuple[Candidate, ...], seed: int) -> Evidence:
    choice = choose(prediction.unsqueeze(0), known)
    smoother = known[int(choice.index)].smoother
    found = leave_out_dpvar(prediction.unsqueeze(0), smoother, choice.ridge)
    return Evidence(
        estimate=float(found.estimate),
        level=found.level[0],
        residual=found.residual[0],
        degenerate=float(null_variance(found.residual[0], smoother, found.kept[0])),
        test=lambda: _no_disparity_p_value(prediction, known, seed),
        regressor=choice.describe(),
        informative=float(found.kept.sum()) >= _LEAST_DF,
    )


def _trained_evidence(prediction: Tensor, rows: EvaluationRows, regressor: MLPMean, seed: int) -> Evidence:
    """Sign flips of the prediction, trained beside it as further configurations, show what the null leaves."""
    random = np.random.default_rng(seed)
    signs = torch.from_numpy(
        np.vstack([np.ones(len(prediction)), random.choice([-1.0, 1.0], (_FLIPS, len(prediction)))])
    )
    value, level = covariance_form(signs * prediction, rows.sensitive, rows.row_weight, regressor, seed)
    null_sd = float(value[1:].square().mean().sqrt())
    return Evidence(
        estimate=float(value[0]),
        level=level[0],
        residual=prediction - level[0],
        degenerate=null_sd**2,
        test=lambda: float(student.sf(float(value[0]) / max(null_sd, 1e-300), _FLIPS)),
        regressor=f"{regressor.name} (hidden {regressor.hidden}, {regressor.optimizer.steps} steps, 5 folds)",
    )


def _streamed_evidence(prediction: Tensor, rows: EvaluationRows, regressor: LinearMean | None, seed: int) -> Evidence:
    """Kind and ridge of the conditional mean are chosen on a random sample; all rows are then passed block by block."""
    sample = np.random.default_rng(seed).choice(len(prediction), SAMPLE, replace=False)
    known = candidates(rows.sensitive[sample], rows.row_weight[sample], seed, regressor)
    choice = choose(prediction[torch.from_numpy(sample)].unsqueeze(0), known)
    number, ridge = int(choice.index), float(choice.ridge)
    mean = regressor or suitable_means(rows.sensitive[sample])[number]
    streamed = stream(mean, rows.sensitive[sample], rows.sensitive, rows.row_weight, seed)
    evidence = leave_out_streamed(prediction, streamed, ridge)
    kept = evidence.found.kept[0]
    weighted = kept.unsqueeze(1) * evidence.residual_scatter
    tried = [kept_share(streamed.spectrum.shrinkage(each))[1:] for each in _ridges_with_extra_df(known[number])]
    return Evidence(
        estimate=float(evidence.found.estimate),
        level=evidence.found.level[0],
        residual=evidence.found.residual[0],
        degenerate=float(2 * ((weighted * weighted.T).sum() - evidence.own)),
        test=lambda: _p_value(torch.stack(tried), evidence.centred_scatter[1:, 1:], evidence.coefficients[1:], seed),
        regressor=f"{choice.describe()}, chosen on {SAMPLE:,} rows",
        informative=float(kept.sum()) >= _LEAST_DF,
    )


def _no_disparity_p_value(centred: Tensor, known: tuple[Candidate, ...], seed: int) -> float:
    """P-value of max over candidates and roughnesses of (c'qc − tr qK) / sd, with c* ~ N(0, K) under the null."""
    row_weight = known[0].smoother.row_weight
    basis = torch.cat([candidate.smoother.fit_basis[:, 1:] for candidate in known], dim=1)
    if not basis.shape[1]:
        return 1.0
    kept, start = [], 0
    for candidate in known:
        smoother = candidate.smoother
        count = smoother.fit_basis.shape[1] - 1
        for ridge in _ridges_with_extra_df(candidate):
            q = basis.new_zeros(basis.shape[1])
            q[start : start + count] = kept_share(smoother.shrinkage(ridge))[1:]
            kept.append(q)
        start += count
    scatter = noise_scatter(centred, basis, row_weight)
    return _p_value(torch.stack(kept), scatter, (row_weight * centred) @ basis, seed)


def _p_value(weights: Tensor, scatter: Tensor, coefficients: Tensor, seed: int) -> float:
    """P-value of the largest form over weights q (form, basis), noise K (basis, basis), coefficients c (basis,)."""
    moments, vectors = torch.linalg.eigh(scatter)
    root = vectors * moments.clamp_min(0).sqrt()
    generator = torch.Generator().manual_seed(seed)
    draws = torch.randn(_TEST_DRAWS, len(moments), generator=generator, dtype=scatter.dtype) @ root.T
    expected = weights @ scatter.diagonal()
    spread = torch.stack(
        [(2 * ((q.unsqueeze(1) * scatter) * (q.unsqueeze(1) * scatter).T).sum()).sqrt() for q in weights]
    )
    spread = spread.clamp_min(1e-300)
    null = ((draws.square() @ weights.T - expected) / spread).amax(dim=1)
    seen = (coefficients.square() @ weights.T - expected) / spread
    return float((1 + (null >= seen.max()).sum()) / (1 + _TEST_DRAWS))


def _ridges_with_extra_df(candidate: Candidate) -> list[float]:
    """Ridges at which the penalised part spends nothing, 4 and 16 degrees of freedom, or all it has."""
    smoother = candidate.smoother
    if candidate.ridge is not None:
        return [candidate.ridge]
    ridges = torch.logspace(-9, 6, 61, dtype=torch.float64)
    spent = smoother.spectrum.df(ridges) - smoother.free
    available = len(smoother.moments)
    chosen = [float(ridges[(spent - extra).abs().argmin()]) for extra in _TEST_EXTRA_DF if extra < available]
    return [
        *([float("inf")] if smoother.free > 1 else []),  # the free part alone
        *chosen,
        *([0.0] if 0 < available <= max(_TEST_EXTRA_DF) else []),  # all there is
    ]


def _limits(evidence: Evidence, prediction: Tensor, rows: EvaluationRows, z: float) -> tuple[float, float]:
    """Both ends of the interval of z standard errors, before the test has its say, on the scale of Var(f) = 1."""
    weight = torch.from_numpy(rows.row_weight / rows.row_weight.sum())
    inverse_rows = float(weight.square().sum())
    squared = evidence.level.square()
    size = max(float((weight * squared).sum()), 1e-100)
    kurtosis = float((weight * squared.square()).sum()) / size**2 - 1
    noise = 4 * float((weight * squared * evidence.residual.square()).sum()) / size
    low, high = _invert(evidence.estimate, kurtosis * inverse_rows, noise * inverse_rows, evidence.degenerate, z)
    most = 1 + z * float(((prediction.square() - 1).square() * weight * weight).sum().sqrt())  # of Var(f) itself
    return low, min(high, most) if evidence.informative else most


def _interval(evidence: Evidence, prediction: Tensor, rows: EvaluationRows, level: float) -> DPVarInterval:
    z = float(norm.ppf((1 + level) / 2))
    low, high = _limits(evidence, prediction, rows, z)
    p_value = evidence.test()
    if p_value > 1 - level:
        low = 0.0
    share = float(np.clip(evidence.estimate, 0, 1))
    if low > 0 and 0 < share < 1:
        weight = torch.from_numpy(rows.row_weight / rows.row_weight.sum())
        influence = 2 * evidence.residual * evidence.level + evidence.level.square() - share * prediction.square()
        error = float((weight * weight * influence.square()).sum().sqrt())
        error = np.sqrt(error**2 + evidence.degenerate) / (share * (1 - share))
        share_low, share_high = (float(expit(logit(share) + side * z * error)) for side in (-1, 1))
    else:
        share_low, share_high = min(low, 1.0), min(high, 1.0)
    variance = rows.spread**2
    return DPVarInterval(
        estimate=evidence.estimate * variance,
        low=low * variance,
        high=high * variance,
        share=share,
        share_low=share_low,
        share_high=share_high,
        p_value=p_value,
        regressor=evidence.regressor,
        level=level,
    )


def _invert(estimate: float, square: float, linear: float, constant: float, z: float) -> tuple[float, float]:
    """All ψ ≥ 0 with (estimate − ψ)² ≤ z²(square·ψ² + linear·ψ + constant), as (low, high).

    Negative estimates are read as 0, so that the interval is never empty.
    """
    centre = max(estimate, 0.0)
    a = 1 - z * z * square
    b = centre + z * z * linear / 2
    c = centre * centre - z * z * constant
    root = np.sqrt(max(b * b - a * c, 0.0))
    high = float((b + root) / a) if a > 0 else float("inf")
    return max(float(c / (b + root)) if b + root > 0 else 0.0, 0.0), high


__all__ = ["Array", "DPVarInterval", "Yardstick", "dpvar_interval"]

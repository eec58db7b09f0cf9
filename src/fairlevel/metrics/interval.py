r"""A confidence interval for DPVar that also holds near zero.

The estimate's variance is a function of the truth,

.. math:: V(\psi) = \frac{\kappa \psi^2 + b \psi}{n} + V_0, \qquad
          b = \frac{4\,\overline{r^2 h_c^2}}{\overline{h_c^2}}, \qquad
          \kappa = \frac{\operatorname{Var}(h_c^2)}{(\overline{h_c^2})^2} ,

the first part from the efficient influence function 2(f−h)(h−μ) + (h−μ)² − ψ, the second the degenerate part that is
left when h is constant. Averages over n stand for sums over independent units, w_i-weighted rows or groups of rows.
Within legitimate factors L, h is E[f|A, L] and μ is E[f|L]. The interval holds every ψ ≥ 0 with (ψ̂ − ψ)² ≤ z² V(ψ), a
quadratic inequality, up to the upper limit of Var(f); it reaches down to 0 unless the test of
:mod:`fairlevel.metrics.no_disparity_test` rejects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from fairlevel.metrics.evidence import Evidence

_ROUNDING = 1e-12  # of a share; of a function of A, 1 − share and its error are rounding errors, and so is their ratio


@dataclass(frozen=True)
class DPVarInterval:
    """DPVar of a prediction with its uncertainty over the evaluation rows.

    ``estimate`` is unbiased and may fall below zero when the truth is near it; ``low`` and ``high`` never do.
    ``share`` is DPVar / Var(f) in [0, 1]. ``p_value`` tests DPVar = 0. What is found is the part of E[f|A] that
    ``regressor`` can describe. ``learnt`` counts the functions of A in it that were learnt from the prediction: where
    there are any, E[f|A] has a shape that they follow roughly, and the estimate is a lower bound. ``cannot_tell`` says
    why no difference can be told from none, where that is so: the lower limits are 0 then, and p is 1.
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
    learnt: int = 0
    cannot_tell: str = ""

    def scaled(self, factor: float) -> DPVarInterval:
        """The interval of predictions in other units, of which the squares are ``factor`` times as large."""
        return replace(self, estimate=self.estimate * factor, low=self.low * factor, high=self.high * factor)


def interval_of(evidence: Evidence, confidence: float = 0.95) -> DPVarInterval:
    """Interval, share and test from the evidence of one prediction."""
    if evidence.variance == 0:
        return DPVarInterval(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, evidence.regressor, confidence)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    low, high = limits(evidence, z)
    if evidence.p_value > 1 - confidence:
        low = 0.0
    share = float(np.clip(evidence.estimate, 0, 1))
    if low > 0 and 0 < share < 1 - _ROUNDING:
        error = np.sqrt(evidence.squared_error(2, 1, -share, 0) + evidence.degenerate) / (share * (1 - share))
        factor, rest = float(np.exp(-z * error)), 1 - share  # by which the odds share / rest fall, or rise
        share_low, share_high = share * factor / (share * factor + rest), share / (share + rest * factor)
    else:
        share_low, share_high = min(low, 1.0), min(high, 1.0)
    return DPVarInterval(
        estimate=evidence.estimate * evidence.variance,
        low=low * evidence.variance,
        high=high * evidence.variance,
        share=share,
        share_low=share_low,
        share_high=share_high,
        p_value=evidence.p_value,
        regressor=evidence.regressor,
        level=confidence,
        learnt=evidence.learnt,
    )


def interval_columns(intervals: Sequence[DPVarInterval]) -> dict[str, list[float]]:
    """Columns of a table with one row per model: the estimate, both ends of the interval, and the share."""
    return {
        "dpvar": [interval.estimate for interval in intervals],
        "dpvar_low": [interval.low for interval in intervals],
        "dpvar_high": [interval.high for interval in intervals],
        "share": [interval.share for interval in intervals],
    }


def error_of(evidence: Evidence) -> tuple[float, float]:
    """The estimate, at least 0, and its standard error upwards. No test is made, which is most of the work of an
    interval.
    """
    if evidence.variance == 0:
        return 0.0, 0.0
    estimate, high = max(evidence.estimate, 0.0), limits(evidence, z=1.0)[1]
    return estimate * evidence.variance, (high - estimate) * evidence.variance


def share_error(evidence: Evidence) -> float:
    """The standard error upwards of DPVar as a share of Var(f), which is known far better than DPVar."""
    return error_of(evidence)[1] / evidence.variance if evidence.variance > 0 else 0.0


def limits(evidence: Evidence, z: float) -> tuple[float, float]:
    """Both ends of the interval of z standard errors, before the test, on the scale of Var(f) = 1."""
    size = max(evidence.fitted_variance, 1e-100)
    kurtosis = evidence.squared_error(0, 1, 0, -size) / size**2
    noise = 4 * evidence.squared_error(1, 0, 0, 0) / size
    low, high = _invert(evidence.estimate, kurtosis, noise, evidence.degenerate, z)
    most = 1 + z * evidence.squared_error(0, 0, 1, -1) ** 0.5  # of Var(f) itself
    return low, min(high, most) if evidence.informative else most


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

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

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from fairlevel.arrays import Array, Index
from fairlevel.data.numbers import rounding_limit

CONSTANT = "none needed: the prediction is constant"
ONE_PROFILE = "none needed: the attributes are constant"
_ROUNDING = 1e-12  # of a share; of a function of A, 1 − share and its error are rounding errors, and so is their ratio


@dataclass(frozen=True)
class Evidence:
    """The estimate of one prediction and its uncertainty, on the scale of Var(f) = 1.

    Parameters
    ----------
    variance : Var(f) in the user's units; 0 for a constant prediction
    estimate : debiased DPVar
    fitted_variance : Σ w ĥ², with ĥ(a_i) less its mean
    influence : sums over independent units of products of their sums of w (r ĥ, ĥ², f², 1), (4, 4), with r the noise of
        each row: the variance of any combination of their means
    degenerate : variance of the estimate that is left when DPVar = 0
    test : computes the p-value of the test of DPVar = 0
    regressor : the conditional mean in words
    learnt : how many functions of A in it were learnt from predictions
    informative : False where the rows are too few for the attributes: then only DPVar ≤ Var(f) is known
    spent : share of the rows that functions of L cost, as degrees of freedom
    """

    variance: float
    estimate: float
    fitted_variance: float
    influence: Array
    degenerate: float
    test: Callable[[], float]
    regressor: str
    learnt: int = 0
    informative: bool = True
    spent: float = 0.0

    @property
    def p_value(self) -> float:
        """The p-value of DPVar = 0: the larger one of the test and of the estimate, which is normal with the variance
        that it has at 0. So the test rejects where the interval is above 0, and only there. It is made when it is first
        asked for.
        """
        if "_p_value" not in self.__dict__:  # before Python 3.12 one lock of cached_property serves all instances
            error = math.sqrt(max(2 * self.degenerate, 1e-300))
            of_estimate = math.erfc(self.estimate / error) if self.estimate > 0 else 1.0
            self.__dict__["_p_value"] = max(self.test(), of_estimate)
        p_value: float = self.__dict__["_p_value"]
        return p_value

    def squared_error(self, *combination: float) -> float:
        """The variance of the weighted mean of a combination of (r ĥ, ĥ², f², 1), which has mean zero."""
        factors = np.array(combination)
        return max(float(factors @ self.influence @ factors), 0.0) / (1 - self.spent)

    @classmethod
    def of_constant(cls, regressor: str = CONSTANT) -> Evidence:
        """Of a prediction, or of attributes, that do not vary: DPVar is 0, whatever the rows."""
        return cls(0.0, 0.0, 0.0, np.zeros((4, 4)), 0.0, lambda: 1.0, regressor)


@dataclass(frozen=True)
class StandardisedPredictions:
    """The predictions that vary, with mean 0 and variance 1, and what they had before.

    Shapes: values (config, row), configs, their numbers among all predictions, (config,), variance (config,),
    row_weight (row,) summing to 1.
    """

    values: Array
    configs: Index
    variance: Array
    row_weight: Array

    @classmethod
    def of(cls, predictions: Array | Sequence[Array], row_weight: Array) -> StandardisedPredictions:
        """From predictions (config, row) and row weights on any scale, (row,)."""
        predictions = np.asarray(predictions, dtype=np.float64)
        used = predictions[:, row_weight > 0]
        varying = np.flatnonzero(np.ptp(used, axis=1) > rounding_limit(used))
        chosen = predictions[varying]
        mean = np.average(chosen, axis=1, weights=row_weight)[:, None]
        variance = np.average((chosen - mean) ** 2, axis=1, weights=row_weight)
        values = (chosen - mean) / np.sqrt(variance)[:, None]
        return cls(values, varying, variance, row_weight / row_weight.sum())


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

    @property
    def moves_by(self) -> float:
        """√DPVar, how many units the average moves across profiles (± one standard deviation)."""
        return math.sqrt(max(self.estimate, 0.0))

    def scaled(self, factor: float) -> DPVarInterval:
        """The interval of predictions in other units, of which the squares are ``factor`` times as large."""
        return replace(self, estimate=self.estimate * factor, low=self.low * factor, high=self.high * factor)


def interval_of(evidence: Evidence, confidence: float = 0.95) -> DPVarInterval:
    """Interval, share and test from the evidence of one prediction."""
    if evidence.variance == 0:
        return DPVarInterval(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, evidence.regressor, confidence)
    z, variance = NormalDist().inv_cdf((1 + confidence) / 2), evidence.variance
    low, high = limits(evidence, z)
    if evidence.p_value > 1 - confidence:
        low = 0.0
    share = float(np.clip(evidence.estimate, 0, 1))
    share_low, share_high = min(low, 1.0), min(high, 1.0)
    if low > 0 and 0 < share < 1 - _ROUNDING:
        error = np.sqrt(evidence.squared_error(2, 1, -share, 0) + evidence.degenerate) / (share * (1 - share))
        factor, rest = float(np.exp(-z * error)), 1 - share  # by which the odds share / rest fall, or rise
        share_low, share_high = share * factor / (share * factor + rest), share / (share + rest * factor)
    return DPVarInterval(
        estimate=evidence.estimate * variance,
        low=low * variance,
        high=high * variance,
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
    """The estimate, at least 0, and its standard error upwards; no test, most of an interval's work, is made."""
    if evidence.variance == 0:
        return 0.0, 0.0
    estimate, high = max(evidence.estimate, 0.0), limits(evidence, z=1.0)[1]
    return estimate * evidence.variance, (high - estimate) * evidence.variance


def share_error(evidence: Evidence) -> float:
    """The standard error upwards of DPVar as a share of Var(f), which is known far better."""
    return error_of(evidence)[1] / evidence.variance if evidence.variance > 0 else 0.0


def limits(evidence: Evidence, z: float) -> tuple[float, float]:
    """Both ends of the interval of z standard errors, before the test, on the scale of Var(f) = 1: all ψ with
    (estimate − ψ)² ≤ z² V(ψ). Negative estimates are read as 0, so that the interval is never empty.
    """
    size, centre = max(evidence.fitted_variance, 1e-100), max(evidence.estimate, 0.0)
    a = 1 - z * z * evidence.squared_error(0, 1, 0, -size) / size**2
    b = centre + 2 * z * z * evidence.squared_error(1, 0, 0, 0) / size
    c = centre * centre - z * z * evidence.degenerate
    root = np.sqrt(max(b * b - a * c, 0.0))
    most = 1 + z * evidence.squared_error(0, 0, 1, -1) ** 0.5  # of Var(f) itself
    high = min(float((b + root) / a), most) if a > 0 and evidence.informative else most
    return max(float(c / (b + root)) if b + root > 0 else 0.0, 0.0), high

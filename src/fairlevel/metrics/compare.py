r"""A paired interval for the difference of two predictions in DPVar.

One conditional mean describes both predictions, chosen by their leave-one-out errors together. With u = f_B − f_A and
s = f_B + f_A, the difference is a covariance, and its noise that of a covariance; h is the conditional mean, r = f − h:

.. math:: \hat D = \hat\psi_B - \hat\psi_A = \widehat{\operatorname{Cov}}(h_u, h_s), \qquad
          V(D) = \frac1n \operatorname{Var}(r_s h_u + r_u h_s + h_u h_s) + V_0,

where V₀ is what is left when neither h varies: with K the covariance of the scores of residuals,
2 (tr qK_BB qK_BB + tr qK_AA qK_AA − 2 tr qK_AB qK_AB) less the rows' own part. As for a single DPVar, the variance is a
function of the truth: for each D, h_u and h_s are scaled to their debiased ψ_u and ψ_s, and from there up by one number
of standard errors of both, the smallest with ψ_u ψ_s ≥ D². So V never falls with |D|. The interval holds every D with
(D̂ − D)² ≤ z² V(D), within the upper limits of Var(f_A) and Var(f_B), and p compares D̂² with V(0): 0 is within the
interval where p is above 1 − level. Rows that are too few for the attributes give those limits alone, and p = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.optimize import brentq

from fairlevel.arrays import Array
from fairlevel.data.features import refuse_shuffled
from fairlevel.data.numbers import refuse_extremes, rounding_limit
from fairlevel.data.sensitive import is_one_profile
from fairlevel.exceptions import InvalidInput
from fairlevel.metrics.choice import candidates_for, shared_choice
from fairlevel.metrics.debiased import Debiased
from fairlevel.metrics.evaluator import with_learnt
from fairlevel.metrics.inputs import check_level, read_every_row, read_seed, read_vector
from fairlevel.metrics.interval import CONSTANT, ONE_PROFILE


@dataclass(frozen=True)
class Comparison:
    """DPVar of two predictions on the same rows, A and B, and the interval of B − A.

    ``difference`` is below zero where B is more level than A. ``p_value`` tests that both have the same DPVar.
    """

    difference: float
    low: float
    high: float
    p_value: float
    dpvar_a: float
    dpvar_b: float
    regressor: str
    level: float = 0.95

    def __str__(self) -> str:
        """The finding in one sentence."""
        figures = f"DPVar is {self.dpvar_a:.4g} for A and {self.dpvar_b:.4g} for B"
        interval = f"difference {self.difference:.4g}, {self.level:.0%} interval {self.low:.4g} to {self.high:.4g}"
        if self.low <= 0 <= self.high:
            return f"{figures}; the rows do not show which is smaller ({interval})."
        return f"{figures}; {'B' if self.high < 0 else 'A'} is more level ({interval})."


def compare(
    y_pred_a: Any,
    y_pred_b: Any,
    *,
    sensitive_features: Any,
    given: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    level: float = 0.95,
    random_state: Any = 0,
) -> Comparison:
    """Whether one of two predictions for the same rows has less disparity: DPVar(B) − DPVar(A) with an interval.

    Both predictions share the people, so most chance differences cancel: the interval is narrower than what two
    separate intervals would say.

    Parameters
    ----------
    y_pred_a, y_pred_b : arrays of shape (rows,), in the same units
    sensitive_features : array or frame of shape (rows,) or (rows, attributes)
    given : legitimate factors L, array or frame of shape (rows,) or (rows, factors), optional
    sample_weight, groups : arrays of shape (rows,), optional; see :func:`dpvar`
    level : confidence level
    random_state : seed of random features

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np
    >>> from fairlevel import compare
    >>> random = np.random.default_rng(0)
    >>> A, X = random.standard_normal((2, 1000))
    >>> found = compare(X + A, X + A / 2, sensitive_features=A)
    >>> bool(found.low < 0.25 - 1 < found.high < 0)
    True
    """
    check_level(level)
    seed = read_seed(random_state)
    refuse_shuffled(y_pred_a=y_pred_a, y_pred_b=y_pred_b)
    rows = read_every_row(y_pred_a, sensitive_features, sample_weight, given, groups)
    other = read_vector("y_pred_b", y_pred_b)
    if len(other) != len(rows):
        raise InvalidInput(
            f"y_pred_b has {len(other)} rows but y_pred_a has {len(rows)}; both must predict the same rows."
        )
    refuse_extremes("y_pred_b", other)
    used = rows.sample(seed)
    rows, pair = rows.take(used), np.stack([rows.prediction[used], other[used]])
    if is_one_profile(rows.sensitive):
        return Comparison(0.0, 0.0, 0.0, 1.0, 0.0, 0.0, ONE_PROFILE, level)
    varies = np.ptp(pair, axis=1) > rounding_limit(pair)
    if not varies.any():
        return Comparison(0.0, 0.0, 0.0, 1.0, 0.0, 0.0, CONSTANT, level)
    attributes = rows.attributes(seed)
    centred = (pair - (pair @ attributes.weight)[:, None]) * varies[:, None]
    scale = float(np.sqrt((centred**2 @ attributes.weight).max()))
    predictions = centred / scale
    choice = shared_choice(predictions, candidates_for(with_learnt(attributes, predictions[varies], seed), seed))
    paired = Paired.of(predictions, choice.debiased)
    low, high = paired.limits(NormalDist().inv_cdf((1 + level) / 2))
    return Comparison(
        difference=paired.difference * scale**2,
        low=low * scale**2,
        high=high * scale**2,
        p_value=paired.p_value(),
        dpvar_a=float(paired.estimates[0]) * scale**2,
        dpvar_b=float(paired.estimates[1]) * scale**2,
        regressor=choice.in_words,
        level=level,
    )


@dataclass(frozen=True)
class Paired:
    """Both estimates and what the variance of their difference needs, on the scale of the larger Var(f) = 1. Pairs are
    of A and B, or of u and s.
    """

    estimates: Array  # debiased DPVar of A and B
    parts: Array  # debiased DPVar of u and s, no less than 0
    noise: Array  # standard errors of these where they are 0
    plug_in: Array  # Σ w ĥ² of u and s
    covariance: Array  # of the weighted means of (r_s h_u, r_u h_s, h_u h_s), (3, 3)
    degenerate: float  # V₀
    variances: Array  # of A and B
    errors: Array  # standard errors of these
    informative: bool  # False where the rows are too few for the attributes

    @classmethod
    def of(cls, predictions: Array, debiased: Debiased) -> Paired:
        """From predictions A and B, (2, row)."""
        smoother, units, q = debiased.smoother, debiased.units, debiased.q
        weight = smoother.row_weight
        four = np.vstack([predictions, predictions[1] - predictions[0], predictions.sum(axis=0)])  # A, B, u, s
        estimates, noise = debiased.estimates(four), debiased.noise(four)
        mean_u, mean_s = fitted = debiased.fitted(four[2:])
        product = mean_u * mean_s
        moves = np.stack([noise[3] * mean_u, noise[2] * mean_s, product - product @ weight], axis=1)
        sums = units.sums(moves * weight[:, None])
        scores = [debiased.scores(each) for each in noise]
        of_a, of_b, of_u, of_s = (each.covariance() for each in scores)
        crossed = (of_s - of_u).traces(q)[1] / 16  # K_AB = K_s/4 − K_u/4
        forms_a, forms_b = (each.products(each, q) for each in scores[:2])
        with_itself = np.square(forms_b - forms_a).sum()  # pairs of a unit with itself, which the estimates leave out
        variances = np.square(predictions) @ weight
        deviations = units.sums(((np.square(predictions) - variances[:, None]) * weight).T)
        return cls(
            estimates[:2],
            np.maximum(estimates[2:], 0.0),
            np.sqrt([debiased.null_variance(each) for each in scores[2:]]),
            np.square(fitted) @ weight,
            sums.T @ sums / (1 - smoother.spent_on_factors),
            max(2 * float(of_a.traces(q)[1] + of_b.traces(q)[1] - 2 * crossed - with_itself), 0.0),
            variances,
            np.sqrt(np.square(deviations).sum(axis=0)),
            debiased.informative,
        )

    @property
    def difference(self) -> float:
        return float(self.estimates[1] - self.estimates[0])

    def variance(self, difference: float) -> float:
        """V(D), the squared standard error of the difference of both DPVars if it is D."""
        lacking = max(difference**2 - float(self.parts.prod()), 0.0)  # (ψ_u + t n_u) (ψ_s + t n_s) shall be D²
        slope, curve = float(self.parts @ self.noise[::-1]), float(self.noise.prod())
        upward = 2 * lacking / max(slope + np.sqrt(slope**2 + 4 * curve * lacking), 1e-100)
        scale_u, scale_s = np.sqrt((self.parts + upward * self.noise) / np.maximum(self.plug_in, 1e-100))
        combination = np.array([scale_u, scale_s, scale_u * scale_s])
        return max(float(combination @ self.covariance @ combination), 0.0) + self.degenerate

    def p_value(self) -> float:
        """The p-value of the test that both have the same DPVar. Where they have no noise, rounding is the noise."""
        if not self.informative:
            return 1.0
        error = max(np.sqrt(self.variance(0.0)), 1e-12)
        return erfc(abs(self.difference) / error / 2**0.5)

    def limits(self, z: float) -> tuple[float, float]:
        """The nearest ends on both sides of D̂ at which (D̂ − D)² = z² V(D); no further than the variances allow."""
        centre, most = self.difference, self.variances + z * self.errors
        widest = min(-float(most[0]), centre), max(float(most[1]), centre)
        if not self.informative:
            return widest
        if self.variance(centre) <= 1e-24:
            return centre, centre

        def excess(shift: float) -> float:
            return shift**2 - z**2 * self.variance(centre + shift)

        ends = []
        for side, end in zip((-1.0, 1.0), widest, strict=True):
            step, room = z * np.sqrt(self.variance(centre)), abs(end - centre)
            if side * centre < 0 <= excess(-centre):
                step = min(step, abs(centre))  # 0 is outside, as p says
            while excess(side * step) < 0 and step < room:
                step *= 1.5
            reached = excess(side * step) >= 0
            ends.append(centre + side * min(abs(brentq(excess, 0.0, side * step)), room) if reached else end)
        return ends[0], ends[1]

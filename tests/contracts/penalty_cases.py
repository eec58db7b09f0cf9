"""What is known about each registered penalty from elsewhere: one row each. A new penalty needs one more."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fairlevel import MLPMean
from fairlevel.penalties import (
    FBO,
    ITD,
    MINE,
    PENALTIES,
    Adversarial,
    FeatureHSIC,
    NeuralHGR,
    Penalty,
    PlainAdversarial,
)
from tests.contracts import dense_objectives as dense
from tests.contracts.sanity import (
    DPVAR,
    MEDIAN_DISTANCE,
    RHO,
    ROWS,
    gaussian_hsic,
    information_of_signs,
    product_information,
    smoothed_chi2,
    smoothed_eipm,
    smoothed_gdp,
)


def as_they_are(a):
    return a


def above_zero(a):
    """Groups: the signs of the first two attributes."""
    return (a[:, :2] > 0).astype(float)


@dataclass(frozen=True)
class PenaltyCase:
    """``objective`` is what the penalty differentiates, written densely and without its code. ``truth`` is its value in
    the four cases of the sanity matrix (NaN: only the sign is known), ``tolerance`` how far the estimate may be off;
    ``measured_by``, ``rounds`` and ``rows`` say how to measure it there, ``settles`` after how many steps a trained
    part is to see that constant predictions hold nothing. ``attributes`` makes of continuous A,
    (row, attribute), what the penalty takes.
    """

    objective: Callable
    truth: Sequence[float]
    tolerance: Sequence[float]
    measured_by: Penalty | None = None
    rounds: int = 1
    rows: int = ROWS
    value_is_objective: bool = True
    settles: int = 50
    attributes: Callable = as_they_are


HSIC_TRUTH = [gaussian_hsic(RHO, 1.0, MEDIAN_DISTANCE), np.nan, np.nan, 0.0]
ROOT_TRUTH = np.sqrt(np.array(DPVAR) + 0.05**2) - 0.05
SIGN_TRUTH = [information_of_signs(), 0.0, 0.0, 0.0]
LINEAR_TRUTH = [RHO**2, 0.0, 0.0, 0.0]
SMALL = MLPMean(hidden=(16, 16))

CASES = {
    # Gradient descent is slow on the tails of A². FBO follows a surrogate whose value means nothing.
    "fbo": PenaltyCase(
        dense.fbo, DPVAR, [0.05, 0.7, 0.03, 0.02], FBO(inner_steps=25, mean=SMALL), 20, 2000, False, 200
    ),
    "itd": PenaltyCase(
        dense.itd, DPVAR, [0.05, 0.7, 0.03, 0.02], ITD(inner_steps=25, steps=1, mean=SMALL), 20, 2000, settles=200
    ),
    "fbo_closed": PenaltyCase(dense.fbo_closed, DPVAR, [0.04, 0.25, 0.04, 0.02]),
    "fbo_root": PenaltyCase(dense.fbo_root, ROOT_TRUTH, [0.04, 0.09, 0.16, 0.1]),
    "r2": PenaltyCase(dense.linear_r2, LINEAR_TRUTH, [0.03, 0.02, 0.02, 0.005]),
    "gdp": PenaltyCase(dense.gdp, smoothed_gdp(), [0.02, 0.05, 0.06, 0.05]),
    "hsic": PenaltyCase(dense.hsic, HSIC_TRUTH, [0.002, 0, 0, 0.0005]),
    "hsic_features": PenaltyCase(
        dense.hsic_features, HSIC_TRUTH, [0.004, 0, 0, 0.0005], FeatureHSIC(features=300, sensitive_features_count=300)
    ),
    "adversarial": PenaltyCase(
        dense.adversarial, LINEAR_TRUTH, [0.03, 0.02, 0.02, 0.02], Adversarial(20, 0.02, hidden=(16, 16)), 3, 3000
    ),
    "adversarial_plain": PenaltyCase(
        dense.adversarial_plain,
        LINEAR_TRUTH,
        [0.03, 0.02, 0.02, 0.02],
        PlainAdversarial(20, 0.02, hidden=(16, 16)),
        3,
        3000,
    ),
    # A² is no probability on average: there the parabola beyond 0.99 is steep and magnifies noise.
    "prejudice_remover": PenaltyCase(
        dense.prejudice_remover, SIGN_TRUTH, [0.01, 0.02, 1e-3, 1e-3], attributes=above_zero
    ),
    # A·Z: log|A·Z| is a sum of two independent copies, so HGR² = 1/2 (Dembo, Kagan & Shepp, 2001).
    "hgr": PenaltyCase(
        dense.hgr, [RHO**2, 1.0, 0.5, 0.0], [0.03, 0.02, 0.08, 0.02], NeuralHGR(10, critic_learning_rate=0.02), 10, 2000
    ),
    "hgr_chi2": PenaltyCase(dense.hgr_chi2, smoothed_chi2(RHO), [0.04, 0.15, 0.06, 0.012]),
    "hgr_kernel": PenaltyCase(dense.hgr_kernel, [RHO**2, 1.0, 0.25, 0.0], [0.02, 0.01, 0.06, 0.005]),
    # A lower bound: the spike of A·Z at A = 0 takes longer to find than 80 steps.
    "mine": PenaltyCase(
        dense.mine,
        [-np.log(1 - RHO**2) / 2, np.nan, product_information(), 0.0],
        [0.03, 0, 0.12, 0.015],
        MINE(10, critic_learning_rate=0.04, hidden=(16, 16)),
        8,
        2000,
    ),
    "gedi": PenaltyCase(dense.gedi, DPVAR, [0.03, 0.15, 0.01, 0.005]),
    "eipm": PenaltyCase(dense.eipm, smoothed_eipm(RHO), [0.02, 0.03, 0.02, 0.005]),
}

OF_CLASSES = {"prejudice_remover"}
"""Penalties that refuse a target of more than two values."""

QUICK = {
    "adversarial": Adversarial(hidden=(16, 16)),
    "adversarial_plain": PlainAdversarial(hidden=(16, 16)),
}
"""Penalties with smaller networks than they have by default."""

FEW_STEPS = {kind.name: kind(critic_steps=2) for kind in (Adversarial, PlainAdversarial, NeuralHGR, MINE)}
FEW_STEPS |= {kind.name: kind(inner_steps=2) for kind in (FBO, ITD)}
"""Penalties with networks of their own, which take fewer steps than by default for each of the predictor."""


def quick_penalty(name):
    """The penalty of that name, with small networks where it trains any."""
    return QUICK.get(name) or PENALTIES[name]()


SLOW = {"hgr", "mine"}
"""Networks trained by small steps beside the predictor: not fitted anew for every predictor."""

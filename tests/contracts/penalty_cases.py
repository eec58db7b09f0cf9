"""What is known about each registered penalty from elsewhere: one row each. A new penalty needs one more."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fairlevel import FBO, ITD, Adversarial, MLPMean
from fairlevel.networks.penalties import PlainAdversarial
from fairlevel.penalties import FeatureHSIC, Penalty, resolve_penalty
from tests.contracts import dense_objectives as dense
from tests.contracts.sanity import (
    DPVAR,
    MEDIAN_DISTANCE,
    RHO,
    ROWS,
    gaussian_hsic,
    smoothed_gdp,
)


@dataclass(frozen=True)
class PenaltyCase:
    """``objective`` is what the penalty differentiates, written densely and without its code. ``truth`` is its value in
    the four cases of the sanity matrix (NaN: only the sign is known), ``tolerance`` how far the estimate may be off;
    ``measured_by``, ``rounds`` and ``rows`` say how to measure it there, ``settles`` after how many steps a trained
    part is to see that constant predictions hold nothing.
    """

    objective: Callable
    truth: Sequence[float]
    tolerance: Sequence[float]
    measured_by: Penalty | None = None
    rounds: int = 1
    rows: int = ROWS
    value_is_objective: bool = True
    settles: int = 50


HSIC_TRUTH = [gaussian_hsic(RHO, 1.0, MEDIAN_DISTANCE), np.nan, np.nan, 0.0]
ROOT_TRUTH = np.sqrt(np.array(DPVAR) + 0.05**2) - 0.05
LINEAR_TRUTH = [RHO**2, 0.0, 0.0, 0.0]
SMALL = MLPMean(hidden=(16, 16))

CASES = {
    # Gradient descent is slow on the tails of A²: 2000 steps of FBO read 1.87. Its surrogate has no value.
    "fbo": PenaltyCase(
        dense.fbo, DPVAR, [0.05, 0.2, 0.03, 0.02], FBO(inner_steps=100, mean=SMALL), 20, 2000, False, 200
    ),
    "itd": PenaltyCase(
        dense.itd, DPVAR, [0.05, 0.1, 0.03, 0.02], ITD(inner_steps=25, steps=1, mean=SMALL), 20, 2000, settles=200
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
}

QUICK = {
    "adversarial": Adversarial(hidden=(16, 16)),
    "adversarial_plain": PlainAdversarial(hidden=(16, 16)),
}
"""Penalties with smaller networks than they have by default."""

FEW_STEPS = {kind.name: kind(critic_steps=2) for kind in (Adversarial, PlainAdversarial)}
FEW_STEPS |= {kind.name: kind(inner_steps=2) for kind in (FBO, ITD)}
"""Penalties with networks of their own, which take fewer steps than by default for each of the predictor."""


def quick_penalty(name):
    """The penalty of that name, with small networks where it trains any."""
    return QUICK.get(name) or resolve_penalty(name)

"""Every penalty of the map keeps the contract of ``tests/contracts`` and trains as a user would train with it."""

import numpy as np
import pytest

from fairlevel import FairnessPath, FairRegressor, dpvar
from fairlevel.exceptions import InvalidInput
from fairlevel.networks.optimizers import Adam
from fairlevel.penalties import Penalty
from fairlevel_study.penalties import MINE, PENALTIES, NeuralHGR
from study.tests.penalties import dense_objectives as dense
from study.tests.penalties.sanity import product_information, smoothed_chi2, smoothed_eipm
from tests.contracts.penalty_cases import PenaltyCase
from tests.contracts.penalty_contract import CHECKS
from tests.contracts.sanity import DPVAR, RHO

CASES = {
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

FEW_STEPS = {"hgr": NeuralHGR(critic_steps=2), "mine": MINE(critic_steps=2)}
"""Penalties with networks of their own take fewer steps than by default for each of the predictor."""


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", sorted(PENALTIES))
def test_contract(name, check):
    check(PENALTIES[name](), CASES[name])


def test_every_penalty_has_a_case_and_a_name():
    assert set(CASES) == set(PENALTIES)
    assert all(isinstance(penalty(), Penalty) and penalty.name == name for name, penalty in PENALTIES.items())


@pytest.mark.parametrize("predictor", ["linear", "boosting"])
@pytest.mark.parametrize("name", sorted(PENALTIES))
def test_in_fair_regressor(name, predictor):
    random = np.random.default_rng(0)
    a, z = random.standard_normal((2, 200, 2))
    x = np.hstack([a + z, z])
    y = x[:, 0] + x[:, 1]
    settings = {"penalty": FEW_STEPS.get(name) or PENALTIES[name](), "predictor": predictor, "random_state": 0}
    settings |= {"optimizer": Adam(0.05, steps=20), "validation_fraction": None}
    plain, fair = (FairRegressor(weight, **settings).fit(x, y, sensitive_features=a) for weight in (0.0, 10.0))
    assert dpvar(None, fair.predict(x), sensitive_features=a) < dpvar(None, plain.predict(x), sensitive_features=a)


def test_their_names_say_where_they_are():
    x, y = np.eye(9), np.arange(9.0)
    with pytest.raises(InvalidInput, match=r"gone since version 0.3: .*fairlevel_study.penalties.GeDI"):
        FairRegressor(1.0, penalty="gedi").fit(x, y, sensitive_features=y)
    with pytest.raises(InvalidInput, match="MINE"):
        FairnessPath("mine").fit(x, y, sensitive_features=y)

"""A penalty from outside the package: one class, one registry row, one fixture line, and everything works with it."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

from fairlevel import FairnessPath, FairRegressor, dpvar
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.networks.optimizers import Adam
from fairlevel.penalties import PENALTIES
from fairlevel.penalties.protocol import Penalty, PenaltyStep, Prepared
from fairlevel.predictors import Boosting
from tests.contracts.penalty_cases import CASES, PenaltyCase
from tests.contracts.penalty_contract import CHECKS

QUICK_TREES = Boosting(rounds=60, learning_rate=0.1)


@dataclass(frozen=True)
class CentredAttributes(Prepared):
    """Shapes: values (row, attribute), centred and times the row's weight."""

    values: np.ndarray


@dataclass(frozen=True)
class SquaredCovariance(Penalty):
    """P = Σ_k Cov(f, A_k)²."""

    name = "covariance"

    def prepare(self, attributes, seed):
        weight = attributes.weight
        return CentredAttributes((attributes.values - weight @ attributes.values) * weight[:, None])

    def step(self, prediction, prepared, state):
        covariance = prediction @ prepared.values
        return PenaltyStep((covariance**2).sum(-1), 2 * covariance @ prepared.values.T)


def dense(f, a, weight, *_):
    w = weight / weight.sum()
    return (((f - (f @ w)[:, None]) * w) @ (a - w @ a)).square().sum(-1)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(PENALTIES, "covariance", SquaredCovariance)
    monkeypatch.setitem(CASES, "covariance", PenaltyCase(dense, [0.36, 0, 0, 0], [0.03, 0.1, 0.02, 0.005]))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(check):
    check(PENALTIES["covariance"](), CASES["covariance"])


@pytest.fixture(scope="module")
def data():
    drawn = SyntheticDesign(beta_int=1.0).sample(500, seed=0)
    return drawn.x, drawn.y, drawn.a


def module():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 1))


@pytest.mark.parametrize(
    "settings",
    [
        {"predictor": QUICK_TREES, "optimizer": "adam"},
        {"predictor": "linear", "optimizer": "adam"},
        {"predictor": module()},
        {"predictor": module(), "validation_fraction": 0.2},
    ],
    ids=str,
)
def test_in_fair_regressor(settings, data):
    x, y, a = data
    common = {"penalty": "covariance", "optimizer": Adam(0.01, steps=60), "validation_fraction": None}
    common |= {"random_state": 0, **settings}
    plain, fair = (
        dpvar(None, FairRegressor(weight=w, **common).fit(x, y, sensitive_features=a).predict(x), sensitive_features=a)
        for w in (0.0, 30.0)
    )
    assert fair < 0.4 * plain


def test_in_a_path(data):
    x, y, a = data
    path = FairnessPath(solver="covariance", predictor=Boosting(rounds=20, learning_rate=0.1), random_state=0)
    path.fit(x[:250], y[:250], sensitive_features=a[:250])
    assert set(path.candidates_["family"]) == {"covariance"}
    assert path.front_["dpvar"].iloc[0] < 0.5 * path.front_["dpvar"].iloc[-1]

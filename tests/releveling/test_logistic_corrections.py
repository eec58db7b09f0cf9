"""Corrections of log-odds against autograd and a general optimiser, both in 64 bits."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.special import expit

from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.corrections.closed_form import Disparity
from fairlevel.corrections.logistic import LogisticObjective, keeping_mean, logistic_corrections
from fairlevel.trees.protocol import leaf_columns

RIDGE = 0.03


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    n = 300
    leaves = random.integers(0, 5, (n, 3))
    a = random.standard_normal((n, 2))
    leaves[:, 0] = np.digitize(a[:, 0] + 0.5 * random.standard_normal(n), [-1, 0, 0.5, 1])
    columns = leaf_columns(leaves, [5, 5, 5])
    log_odds = 1.5 * a[:, 0] + random.standard_normal(n) - 0.5
    attributes = Attributes(a, row_weight=random.integers(1, 4, n).astype(float))
    return columns, log_odds, Disparity.of(expit(log_odds), attributes, 0)


def written_again(u, phi, log_odds, disparity, alpha, ridge):
    """The objective of the docstring with the intercept found by bisection, differentiable by autograd."""
    weight, functions = (torch.from_numpy(each) for each in (disparity.row_weight, disparity.functions))
    before = torch.from_numpy(expit(log_odds))
    total = torch.from_numpy(log_odds) + torch.from_numpy(phi) @ u
    low, high = -50.0, 50.0
    for _ in range(70):  # 100 / 2⁷⁰ is below the last bit
        middle = (low + high) / 2
        if float(weight @ torch.sigmoid(total.detach() + middle)) < float(weight @ before):
            low = middle
        else:
            high = middle
    start = total + low
    slope = (weight * torch.sigmoid(start) * (1 - torch.sigmoid(start))).sum().detach()
    shift = (weight @ before - weight @ torch.sigmoid(start)) / slope  # zero, with the gradient of b(u)
    p = torch.sigmoid(start + shift)
    kl = weight @ (before * torch.log(before / p) + (1 - before) * torch.log((1 - before) / (1 - p)))
    return 2 * kl + alpha * ((p @ functions) ** 2).sum() + ridge * (u**2).sum()


@pytest.mark.parametrize("alpha", [0.3, 20.0])
def test_value_and_gradient(rows, alpha):
    columns, log_odds, disparity = rows
    objective = LogisticObjective(columns, log_odds, disparity, alpha, ridge=0.01)
    point = objective.at(0.3 * np.random.default_rng(1).standard_normal(15))
    free = torch.from_numpy(point.u).requires_grad_()
    value = written_again(free, columns.toarray(), log_odds, disparity, alpha, 0.01)
    value.backward()
    assert point.value == pytest.approx(float(value.detach()), rel=1e-10)
    np.testing.assert_allclose(2 * point.half_gradient, free.grad.numpy(), atol=1e-10)


@pytest.mark.parametrize("kind", ["leaves", "dense"])
def test_corrections_minimise_the_objective(rows, kind):
    leaves, log_odds, disparity = rows
    phi = leaves.toarray()
    columns = leaves if kind == "leaves" else phi
    left = []
    for point in logistic_corrections(columns, log_odds, disparity, (RIDGE,), (0.6, 0.3, 0.1), accuracy=1e-12):
        left.append(float((disparity.coefficients(point.probability) ** 2).sum()))
        assert disparity.row_weight @ point.probability == pytest.approx(disparity.row_weight @ expit(log_odds))

        def of(v, objective=point.objective):
            free = torch.from_numpy(v).requires_grad_()
            value = written_again(free, phi, log_odds, disparity, objective.alpha, objective.ridge)
            value.backward()
            return float(value.detach()), free.grad.numpy()

        best = minimize(of, np.zeros(len(point.u)), jac=True, method="BFGS", options={"gtol": 1e-10})
        assert point.value == pytest.approx(best.fun, rel=1e-7)
        assert np.abs(of(point.u)[1]).max() < 1e-4 * np.abs(of(np.zeros(len(point.u)))[1]).max()
    assert left == sorted(left, reverse=True)
    assert left[-1] < 0.1 * (disparity.coefficients(expit(log_odds)) ** 2).sum()


def test_the_mean_can_be_kept_from_far_away():
    weight = np.full(4, 0.25)
    log_odds = np.array([[40.0, 30, -20, 5], [-60, -50, -40, -30]])
    shift = keeping_mean(log_odds, weight, 0.3)
    np.testing.assert_allclose(expit(log_odds + shift[:, None]) @ weight, 0.3, atol=1e-9)

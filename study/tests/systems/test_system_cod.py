"""CoD against closed forms, and against a general solver."""

import numpy as np
import pytest
from scipy.optimize import minimize

from fairlevel_study.systems.cod import CoD, EigenMoments, solve
from study.tests.systems.rows import SETUP, data


def test_two_directions_without_ridge():
    """c_s = 2, c_u = 1, ε = 0.1: multipliers κ b √(c_u/c_s) and b, with κ = √(ε/(1−ε)), b = (κ√(c_s/c_u)+1)/(1+κ²)."""
    one = np.ones((1, 1))
    alpha, beta = solve(
        EigenMoments(np.array([2.0]), np.array([2.0]), one), EigenMoments(np.ones(1), np.ones(1), one), 0.1, 0.0
    )
    assert alpha[0] == pytest.approx(0.312132, abs=1e-6)
    assert beta[0] == pytest.approx(1.324264, abs=1e-6)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_no_share_is_residualised_regression(ridge):
    given = data(attributes=2)
    a, x = given.a, given.x
    u = x - a @ np.linalg.solve(a.T @ a, a.T @ x)
    directions = u.T @ u + ridge * len(u) * np.eye(x.shape[1])
    expected = given.y.mean() + u @ np.linalg.solve(directions, u.T @ given.y)
    members = CoD(ridge=ridge).fit(given, (0.0,), SETUP)
    assert np.allclose(members.predict(np.hstack([x, a]))[0], expected, atol=1e-9)


def test_whole_share_is_plain_regression():
    given = data(attributes=2)
    both = np.hstack([given.x, given.a])
    expected = given.y.mean() + both @ np.linalg.lstsq(both, given.y, rcond=None)[0]
    assert np.allclose(CoD(ridge=0.0).fit(given, (1.0,), SETUP).predict(both)[0], expected, atol=1e-8)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_constraint_holds_and_no_solver_finds_better(share):
    given, ridge = data(attributes=2), 0.05
    f = CoD(ridge=ridge).fit(given, (share,), SETUP).predict(np.hstack([given.x, given.a]))[0]
    a = given.a
    explained = a @ np.linalg.lstsq(a, f - f.mean(), rcond=None)[0]
    assert explained.var() / f.var() == pytest.approx(share, rel=1e-6)
    u = given.x - a @ np.linalg.lstsq(a, given.x, rcond=None)[0]

    def objective(w):
        return ((given.y - a @ w[:2] - u @ w[2:]) ** 2).mean() + ridge * (w @ w)

    def room(w):
        return share * ((u @ w[2:]) ** 2).mean() - (1 - share) * ((a @ w[:2]) ** 2).mean()

    start = np.concatenate([np.zeros(2), np.linalg.lstsq(u, given.y, rcond=None)[0]])
    other = minimize(objective, start, constraints={"type": "ineq", "fun": room}, tol=1e-13, options={"maxiter": 500})
    own = np.concatenate([np.linalg.lstsq(a, f, rcond=None)[0], np.linalg.lstsq(u, f, rcond=None)[0]])
    assert objective(own) <= other.fun + 1e-7

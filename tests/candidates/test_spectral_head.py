"""The spectral head against dense solves and against training."""

import numpy as np
import pytest

from fairlevel.candidates.spectral_path import spectral_head
from fairlevel.conditional_mean import RandomFeaturesMean, RidgeMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.members.input_map import InputMap
from fairlevel.members.layout import Layout
from fairlevel.members.networks import NetworkMembers
from fairlevel.predictors.linear import FURTHER_RIDGES, leave_one_out_ridge


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    a = random.standard_normal((300, 2))
    features = np.c_[a @ random.standard_normal((2, 3)), random.standard_normal((300, 3))] + 2.0
    features[:, 0] *= 5
    y = features @ random.standard_normal(6) + a[:, 0] ** 2
    return features, y, a


@pytest.mark.parametrize("mean", [RidgeMean(ridge=0.1), RandomFeaturesMean(features=30)])
def test_every_weight_is_the_dense_optimum(data, mean):
    features, y, a = data
    smoother = mean.prepare(Attributes(a))
    head = spectral_head(features, y, smoother, 0.1, ridge=1e-3)
    weights = np.array([0.0, 0.5, 20.0])
    found = head.coefficients(weights)
    centred = features - features.mean(0)
    matrix = smoother.apply(np.eye(300), 0.1).T  # S, column by column
    matrix = matrix - 1 / 300
    scale = (centred**2).mean()
    for number, weight in enumerate(weights):
        left = centred.T @ centred / 300 + 1e-3 * scale * np.eye(6) + weight * centred.T @ matrix @ centred / 300
        dense = np.linalg.solve(left, centred.T @ (y - y.mean()) / 300)
        np.testing.assert_allclose(found[number], dense, rtol=1e-7, atol=1e-9)


def test_prediction_keeps_the_mean_of_the_target(data):
    features, y, a = data
    head = spectral_head(features, y, RidgeMean().prepare(Attributes(a)), 0.1, ridge=1e-3)
    weight = np.array([3.0])
    prediction = features @ head.coefficients(weight)[0] + head.intercepts(weight)[0]
    assert float(prediction.mean()) == pytest.approx(float(y.mean()), rel=1e-9)


def test_gaussian_oracle():
    """A, Z ~ N(0, 1), X = A + Z, Y = X: w = 2 / (2 + α)."""
    random = np.random.default_rng(0)
    a, z = random.standard_normal((2, 200_000))
    x = a + z
    head = spectral_head(x[:, None], x, RidgeMean().prepare(Attributes(a[:, None])), 0.0, ridge=1e-12)
    found = head.coefficients(np.array([0.0, 2.0, 8.0]))[:, 0]
    np.testing.assert_allclose(found, [1.0, 0.5, 0.2], atol=0.005, rtol=0)


@pytest.mark.parametrize(("columns", "signal", "expected"), [(3, 1.0, 1e-2), (38, 1.0, 1e-1), (38, 0.2, 10.0)])
def test_the_ridge_is_that_of_refits_without_each_row(columns, signal, expected):
    random = np.random.default_rng(1)
    features = random.standard_normal((40, columns)) * np.linspace(0.1, 3, columns)
    y = signal * features @ random.standard_normal(columns) / columns**0.5 + random.standard_normal(40)
    weight = random.random(40)
    weight /= weight.sum()
    scale = (weight @ (features - weight @ features) ** 2).mean()
    design, errors = np.column_stack([np.ones(40), features]), []
    for ridge in 1e-3 * FURTHER_RIDGES:
        penalty = np.diag([0.0, *[ridge * scale] * columns])
        left_out = []
        for row in range(40):
            kept = weight * (np.arange(40) != row)
            solved = np.linalg.solve(design.T @ (kept[:, None] * design) + penalty, design.T @ (kept * y))
            left_out.append(y[row] - design[row] @ solved)
        errors.append(weight @ np.square(left_out))
    truth = 1e-3 * FURTHER_RIDGES[np.argmin(errors)]
    assert truth == pytest.approx(expected)
    assert leave_one_out_ridge(features, y, weight, 1e-3) == truth


@pytest.mark.parametrize("hidden", [(7, 5), ()])
def test_heads_become_members_that_sum_to_the_head(hidden):
    layout = Layout(4, hidden)
    members = NetworkMembers(layout, InputMap(), np.random.default_rng(2).standard_normal((2, layout.size)))
    x = np.random.default_rng(0).standard_normal((20, 4))
    features = members.features(x)
    coefficients = np.random.default_rng(1).standard_normal((3, features.shape[1]))
    intercepts = np.array([1.0, -2.0, 0.5])
    heads, per_head = members.with_heads(coefficients, intercepts)
    assert len(heads) == 3 * per_head
    totals = heads.predict(x).reshape(3, per_head, 20).sum(axis=1)
    expected = coefficients @ features.T + intercepts[:, None]
    np.testing.assert_allclose(totals, expected, rtol=1e-10, atol=1e-12)

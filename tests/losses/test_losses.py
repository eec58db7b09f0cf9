"""Every registered loss: derivatives against autograd in float64, and training with a penalty on what users see."""

import numpy as np
import pytest
import torch

from fairlevel import ClosedFBO
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.losses import Logistic, SquaredLoss
from fairlevel.networks.mlp import MLP
from fairlevel.networks.optimizers import Adam
from fairlevel.networks.torch_module import TorchModule
from fairlevel.predictors import Configurations
from fairlevel.training.rows import AllRows, TrainingRows
from tests.trained import train


@pytest.fixture(params=[SquaredLoss(), Logistic()], ids=lambda loss: loss.figure)
def case(request):
    random = np.random.default_rng(0)
    score = torch.from_numpy(3 * random.standard_normal((2, 20))).requires_grad_()
    target = torch.from_numpy((random.random(20) < 0.4).astype(float))
    weight = torch.from_numpy(random.uniform(0.5, 1.5, 20))
    return request.param, score, target, weight / weight.sum()


def test_gradient_and_curvature_are_the_derivatives(case):
    loss, score, target, weight = case
    value = loss.value(score, target, weight)
    (gradient,) = torch.autograd.grad(value.sum(), score, create_graph=True)
    torch.testing.assert_close(loss.gradient(score, target, weight), gradient, rtol=1e-10, atol=1e-14)
    (second,) = torch.autograd.grad(gradient.sum(), score)
    torch.testing.assert_close(loss.curvature(score, target, weight), second, rtol=1e-8, atol=1e-14)


def test_the_slope_of_the_link_is_its_derivative(case):
    loss, score, _, _ = case
    (exact,) = torch.autograd.grad(loss.link(score).sum(), score)
    torch.testing.assert_close(loss.link.slope(score) * torch.ones_like(score), exact, rtol=1e-10, atol=1e-14)


def test_the_best_constant_score_is_zero():
    labels, weight = np.array([0.0, 1.0, 1.0, 1.0]), np.array([0.4, 0.2, 0.2, 0.2])
    loss = Logistic.of(labels, weight)
    target = (labels - loss.link.centre) / loss.link.scale
    scores = np.repeat(np.linspace(-3, 3, 2001)[:, None], 4, axis=1)
    values = loss.value(scores, target, weight)
    assert scores[values.argmin(), 0] == pytest.approx(0, abs=1e-9)
    assert values.min() == pytest.approx(-0.4 * np.log(0.4) - 0.6 * np.log(0.6), rel=1e-9)  # the entropy


def logistic_rows(count=400):
    random = np.random.default_rng(0)
    a = random.standard_normal((count, 1))
    x = np.c_[a[:, 0] + random.standard_normal(count), random.standard_normal(count)]
    y = (random.random(count) < 1 / (1 + np.exp(-x.sum(axis=1)))).astype(float)
    return TrainingRows(x, y, Attributes(a))


@pytest.mark.parametrize("predictor", [MLP(hidden=(8,)), TorchModule(torch.nn.Linear(2, 1))], ids=["network", "module"])
def test_log_loss_trains_level_probabilities(predictor):
    rows, penalty = logistic_rows(), ClosedFBO()
    trained = train(
        AllRows(rows),
        Configurations.of([0.0, 20.0], 0.02),
        predictor=predictor,
        penalty=penalty,
        loss=Logistic(),
        optimizer=Adam(steps=200),
        device="cpu",
    )
    probability = 1 / (1 + np.exp(-trained.members.predict(rows.x)))
    log_loss = -(rows.y * np.log(probability) + (1 - rows.y) * np.log(1 - probability)).mean(axis=1)
    np.testing.assert_allclose(trained.loss, log_loss, rtol=1e-3)
    assert log_loss[0] + 0.02 < log_loss[1] < 0.70  # ln 2 is that of a constant
    prepared = penalty.prepare(rows.attributes, seed=0)
    value = penalty.step(probability, prepared, None).value
    np.testing.assert_allclose(trained.penalty, value, rtol=1e-2, atol=1e-6)  # of probabilities
    assert value[1] < 0.1 * value[0]

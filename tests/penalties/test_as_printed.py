"""FBO and ITD as the paper prints them: thirty steps of the engine against plain modules and autograd, in float64."""

import numpy as np
import pytest
import torch
from torch import nn

from fairlevel import FBO, ITD
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.networks.backend import TorchBackend
from fairlevel.networks.mlp import MLP
from fairlevel.networks.network import Network
from fairlevel.networks.optimizers import GradientDescent
from fairlevel.predictors import Configurations
from fairlevel.training.rows import AllRows, TrainingRows
from tests.trained import train

STEPS, ROWS, INNER_STEPS, UNROLLED, RATE, INNER_RATE, SEED = 30, 80, 10, 5, 0.05, 0.1, 3


def drawn():
    random = np.random.default_rng(0)
    a = random.standard_normal((ROWS, 2))
    x = random.standard_normal((ROWS, 4))
    x[:, 0] += a[:, 0]
    y = x[:, 0] + np.sin(a[:, 1]) + 0.3 * random.standard_normal(ROWS)
    return x, (y - y.mean()) / y.std(), a


def module(network, row):
    """The network that starts from a row of parameters, as layers of PyTorch in float64."""
    layers = []
    for number, layer in enumerate(network.layers):
        linear = nn.Linear(*layer.shape, dtype=torch.float64)
        with torch.no_grad():
            linear.weight.copy_(row[layer.weight].reshape(layer.shape).T)
            linear.bias.copy_(row[layer.bias])
        layers += [nn.Tanh()] * bool(number) + [linear]
    return nn.Sequential(*layers)


def descend(model, rate, gradients):
    with torch.no_grad():
        for parameter, gradient in zip(model.parameters(), gradients, strict=True):
            parameter -= rate * gradient


def printed(mode, weight):
    """Algorithms 1 to 3: M inner steps on IN; the hypergradient of the mode; one outer step, with labels of OUT."""
    x, y, a = (torch.from_numpy(part) for part in drawn())
    inside, outside = slice(0, ROWS // 2), slice(ROWS // 2, ROWS)
    outer, inner = Network(4), Network(2)
    model = module(outer, outer.init(SEED).double())
    mean = module(inner, inner.init(SEED, torch.float64))

    def inner_loss(predict, target):
        return (predict(a[inside])[:, 0] - target).square().mean()

    for _ in range(STEPS):
        prediction = model(x)[:, 0]
        target = prediction[inside].detach()
        for _ in range(INNER_STEPS):
            descend(mean, INNER_RATE, torch.autograd.grad(inner_loss(mean, target), list(mean.parameters())))
        accuracy = (prediction[outside] - y[outside]).square().mean()
        if mode == "fbo":
            with torch.no_grad():
                level = mean(a)[:, 0]
                adjoint = 2 * (level[inside] - level[outside].mean()) / (ROWS // 2)
            surrogate = (adjoint * prediction[inside]).sum()
        else:
            moved = dict(mean.named_parameters())

            def call(rows, moved=moved):
                return torch.func.functional_call(mean, moved, (rows,))

            for _ in range(UNROLLED):
                slopes = torch.autograd.grad(
                    inner_loss(call, prediction[inside]), list(moved.values()), create_graph=True
                )
                for name, slope in zip(list(moved), slopes, strict=True):
                    moved[name] = moved[name] - INNER_RATE * slope
            surrogate = call(a[outside])[:, 0].var(correction=0)
        descend(model, RATE, torch.autograd.grad(accuracy + weight * surrogate, list(model.parameters())))
    return model(x)[:, 0].detach().numpy()


@pytest.mark.parametrize("weight", [0.5, 5.0])
@pytest.mark.parametrize("mode", ["fbo", "itd"])
def test_thirty_steps_are_those_of_the_paper(mode, weight, monkeypatch):
    monkeypatch.setattr(TorchBackend.__init__, "__defaults__", (torch.float64,))
    penalty = FBO(INNER_STEPS, INNER_RATE) if mode == "fbo" else ITD(INNER_STEPS, INNER_RATE, steps=UNROLLED)
    x, y, a = drawn()
    trained = train(
        AllRows(TrainingRows(x, y, Attributes(a))),
        Configurations.of([weight], RATE * (1 + weight)),  # the engine divides by it
        predictor=MLP(),
        penalty=penalty,
        optimizer=GradientDescent(RATE, STEPS),
        seed=SEED,
        device="cpu",
    )
    np.testing.assert_allclose(trained.members.predict(x)[0], printed(mode, weight), rtol=0, atol=1e-6)

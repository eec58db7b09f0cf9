"""Steps on blocks of rows against whole steps in float64."""

import pytest
import torch

from fairlevel.networks.descent import gradient_steps
from fairlevel.networks.fits import Regression
from fairlevel.networks.network import Network


def problem(rows, configs=3, hidden=(64, 64), dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    network = Network(5, hidden)
    noise = torch.randn(configs, network.size, generator=generator, dtype=torch.float64)
    parameters = network.init(0, torch.float64).repeat(configs, 1) + 0.1 * noise
    x = torch.randn(rows, 5, generator=generator, dtype=torch.float64)
    target = torch.randn(configs, rows, generator=generator, dtype=torch.float64)
    weight = torch.linspace(1, 2, rows, dtype=torch.float64)
    rate = torch.tensor([0.05, 0.1, 0.2, 0.1][:configs], dtype=torch.float64)
    fit = Regression(x, target, weight / weight.sum())
    return network, parameters.to(dtype), Regression(*(part.to(dtype) for part in fit)), rate.to(dtype)


def by_autograd(network, parameters, fit, rate, steps):
    for _ in range(steps):
        moving = parameters.detach().requires_grad_()
        value = network.forward_all(moving, fit.x)[0].squeeze(-1)
        (gradient,) = torch.autograd.grad((fit.row_weight * (value - fit.target).square()).sum(), moving)
        parameters = parameters - rate.unsqueeze(1) * gradient
    return parameters


@pytest.mark.parametrize("rows", [1, 255, 256, 700, 2100])  # one block, a full one, cut ones, larger ones
@pytest.mark.parametrize("hidden", [(64, 64), (5, 4)])
def test_steps_are_those_of_autograd(rows, hidden):
    given = problem(rows, hidden=hidden)
    torch.testing.assert_close(gradient_steps(*given, 4), by_autograd(*given, 4), rtol=1e-9, atol=1e-10)


def test_the_parameters_given_stay_as_they_are():
    network, parameters, fit, rate = problem(20)
    before = parameters.clone()
    gradient_steps(network, parameters, fit, rate, 3)
    assert torch.equal(parameters, before)


def test_what_diverged_stays_by_itself():
    network, parameters, fit, rate = problem(700)
    clean = gradient_steps(network, parameters, fit, rate, 5)
    parameters[1] = torch.nan
    found = gradient_steps(network, parameters, fit, rate, 5)
    assert torch.isnan(found[1, network.layers[0].weight]).all()
    assert torch.equal(found[[0, 2]], clean[[0, 2]])

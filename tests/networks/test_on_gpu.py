"""Kernels on a GPU against plain networks in float64."""

import pytest
import torch

from fairlevel.networks.critics import critic_gradient, critic_loss
from fairlevel.networks.fits import CriticFit, Regression
from fairlevel.networks.network import Network
from fairlevel.networks.on_gpu import kernels_for, kernels_for_adam, kernels_for_critics
from fairlevel.networks.optimizers import Adam

NEEDS_A_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
GRADIENT_ERROR = SECOND_ERROR = 3e-3  # relative; a GPU multiplies gradients with fewer bits
SIZES = [(1, 1, 1), (5, 47, 3), (24, 1700, 2), (60, 800, 5)]  # inputs, rows, configurations: blocks and panels cut


def stack(inputs, rows, configs):
    generator = torch.Generator().manual_seed(0)
    network = Network(inputs)
    noise = torch.randn(configs, network.size, generator=generator)
    parameters = network.init(0).repeat(configs, 1) + 0.1 * noise
    x = torch.randn(rows, inputs, generator=generator)
    upstream = torch.randn(configs, rows, generator=generator) / rows
    parameters, x, upstream = (each.cuda() for each in (parameters, x, upstream))
    kernels = kernels_for(network.hidden, 1, parameters, x)
    assert kernels is not None
    return network, parameters, x, upstream, kernels


@NEEDS_A_GPU
@pytest.mark.parametrize("size", SIZES)
def test_predictions_and_gradients_are_those_of_the_plain_stack(size):
    network, parameters, x, upstream, kernels = stack(*size)
    prediction = kernels.forward(network.shape, parameters, x)
    value, activations = network.forward_all(parameters.double(), x.double())
    torch.testing.assert_close(prediction.double(), value.squeeze(-1), rtol=0, atol=5e-6)
    gradient = kernels.pullback(network.shape, parameters, x, upstream)
    expected = network.pullback_all(parameters.double(), activations, upstream.double().unsqueeze(-1))
    torch.testing.assert_close(gradient.double(), expected, rtol=0, atol=GRADIENT_ERROR * float(expected.abs().max()))


@NEEDS_A_GPU
def test_descent_takes_the_steps_of_the_plain_stack():
    network, parameters, x, target, kernels = stack(5, 900, 3)
    weight = torch.linspace(1, 2, 900, device="cuda")
    weight, rate = weight / weight.sum(), torch.tensor([0.05, 0.1, 0.2], device="cuda")
    before = parameters.clone()
    moved = kernels.descend(network.shape, parameters, Regression(x, target, weight), rate, 20)
    expected = parameters.double()
    for _ in range(20):
        value, activations = network.forward_all(expected, x.double())
        slope = 2 * weight.double() * (value.squeeze(-1) - target.double())
        gradient = network.pullback_all(expected, activations, slope.unsqueeze(-1))
        expected = expected - rate.double().unsqueeze(1) * gradient
    torch.testing.assert_close(moved.double(), expected, rtol=0, atol=2e-3)
    assert torch.equal(parameters, before)


@NEEDS_A_GPU
def test_what_diverged_stays_by_itself():
    network, parameters, x, _, kernels = stack(3, 60, 3)
    clean = kernels.forward(network.shape, parameters, x)
    parameters[1] = torch.nan
    found = kernels.forward(network.shape, parameters, x)
    assert torch.isnan(found[1]).all()
    assert torch.equal(found[[0, 2]], clean[[0, 2]])
    parameters[1] = 1e30
    assert torch.equal(kernels.forward(network.shape, parameters, x)[[0, 2]], clean[[0, 2]])


@NEEDS_A_GPU
def test_differentiation_goes_around_kernels():
    network, parameters, x, _, _ = stack(3, 20, 2)
    moving = parameters.double().requires_grad_()
    network.forward(moving, x.double())[0].sum().backward()
    own = parameters.clone().requires_grad_()
    network.forward(own, x)[0].sum().backward()
    torch.testing.assert_close(own.grad.double(), moving.grad, rtol=1e-4, atol=1e-4)


@NEEDS_A_GPU
def test_second_derivatives_are_those_of_autograd():
    network, parameters, x, target, kernels = stack(5, 130, 2)
    direction = torch.randn(parameters.shape, generator=torch.Generator().manual_seed(1)).cuda()
    weight = torch.linspace(1, 2, 130, device="cuda")
    weight = weight / weight.sum()
    product, along = kernels.second(network.shape, parameters, direction, Regression(x, 100 * target, weight))

    def loss(row, aim):
        value = network.forward_all(row.unsqueeze(0), x.double())[0][0, :, 0]
        return (weight.double() * (value - aim).square()).sum()

    def value(row):
        return network.forward_all(row.unsqueeze(0), x.double())[0][0, :, 0]

    for config in range(2):
        row, way = parameters[config].double(), direction[config].double()
        aim = 100 * target[config].double()
        expected = torch.autograd.functional.hvp(lambda moving, aim=aim: loss(moving, aim), row, way)[1]
        scale = float(expected.abs().max())
        torch.testing.assert_close(product[config].double(), expected, rtol=0, atol=SECOND_ERROR * scale)
        slope = torch.autograd.functional.jvp(value, row, way)[1]
        torch.testing.assert_close(along[config].double(), slope, rtol=0, atol=2e-5 * float(slope.abs().max()))


@NEEDS_A_GPU
@pytest.mark.parametrize("size", [(1, 1, 1), (5, 47, 3), (20, 1700, 2), (33, 800, 3), (64, 90, 2)])
def test_critics_have_the_losses_and_gradients_of_plain_ones(size):
    outputs, rows, configs = size
    generator = torch.Generator().manual_seed(0)
    network = Network(1, outputs=outputs)
    parameters = network.init(0).repeat(configs, 1) + 0.1 * torch.randn(configs, network.size, generator=generator)
    seen, target = torch.randn(configs, rows, generator=generator), torch.randn(rows, outputs, generator=generator)
    weight = torch.linspace(1, 2, rows)
    fit = CriticFit(seen, target, weight / weight.sum())
    there = CriticFit(*(each.cuda() for each in fit))
    assert kernels_for_critics(network.hidden, parameters.cuda(), there) is not None
    exact = CriticFit(*(each.double() for each in fit))
    gradient, expected = (
        critic_gradient(network, parameters.cuda(), there),
        critic_gradient(network, parameters.double(), exact),
    )
    close = {"rtol": 0, "check_device": False, "check_dtype": False}
    torch.testing.assert_close(gradient, expected, atol=GRADIENT_ERROR * float(expected.abs().max()), **close)
    found, wanted = critic_loss(network, parameters.cuda(), there), critic_loss(network, parameters.double(), exact)
    torch.testing.assert_close(found.loss, wanted.loss, atol=1e-5, **close)
    torch.testing.assert_close(
        found.input_gradient,
        wanted.input_gradient,
        atol=GRADIENT_ERROR * float(wanted.input_gradient.abs().max()),
        **close,
    )


def test_losses_of_plain_critics_are_those_of_autograd():
    generator = torch.Generator().manual_seed(0)
    network = Network(1, (7,), outputs=3)
    parameters = torch.randn(2, network.size, generator=generator, dtype=torch.float64).requires_grad_()
    seen = torch.randn(2, 11, generator=generator, dtype=torch.float64).requires_grad_()
    target = torch.randn(11, 3, generator=generator, dtype=torch.float64)
    fit = CriticFit(seen, target, torch.full((11,), 1 / 11, dtype=torch.float64))
    loss, input_gradient = critic_loss(network, parameters, fit)
    wanted = torch.autograd.grad(loss.sum(), (parameters, seen))
    torch.testing.assert_close(critic_gradient(network, parameters, fit), wanted[0])
    torch.testing.assert_close(input_gradient, wanted[1])


@NEEDS_A_GPU
@pytest.mark.parametrize("final_fraction", [0.01, 1.0])
def test_steps_of_adam_at_once_are_those_one_by_one(final_fraction):
    adam, generator = Adam(steps=30, final_fraction=final_fraction), torch.Generator().manual_seed(0)
    exact = torch.randn(3, 1500, generator=generator, dtype=torch.float64)
    parameters, rate = exact.float().cuda(), torch.tensor([0.01, 0.03, 0.1])
    moments, exact_moments = adam.init(parameters), adam.init(exact)
    assert kernels_for_adam(parameters, *moments) is not None
    for number in range(40):
        gradient = torch.randn(exact.shape, generator=generator)
        step = torch.tensor(float(number), dtype=torch.float64, device="cuda")
        adam.update(parameters, gradient.cuda(), moments, rate.cuda(), step)
        adam.update(exact, gradient.double(), exact_moments, rate.double(), number)
    torch.testing.assert_close(parameters.cpu().double(), exact, rtol=0, atol=1e-5)
    torch.testing.assert_close(moments.square.cpu().double(), exact_moments.square, rtol=1e-5, atol=0)

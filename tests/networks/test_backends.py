"""Backends against plain networks in float64; neither other configurations nor threads change a bit."""

import os
import shutil
import subprocess
import sys

import pytest
import torch

from fairlevel.compiled import SWITCH
from fairlevel.networks.backends import CriticFit, Regression, adam_backend_for, backend_for, critic_backend_for
from fairlevel.networks.critics import critic_gradient, critic_loss
from fairlevel.networks.network import Network
from fairlevel.networks.optimizers import Adam

CUDA = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))
DEVICES = ["cpu", CUDA]
GRADIENT_ERROR = {"cpu": 5e-6, "cuda": 3e-3}  # relative; a GPU multiplies gradients with fewer bits
SECOND_ERROR = {"cpu": 2e-5, "cuda": 3e-3}
SIZES = [(1, 1, 1), (5, 47, 3), (24, 1700, 2), (60, 800, 5)]  # inputs, rows, configurations: blocks and panels cut


def need_compiler():
    if shutil.which("cc") is None or os.environ.get(SWITCH) == "off":
        pytest.skip("no C compiler here, or switched off")  # otherwise compiled code must be used


def stack(inputs, rows, configs, device="cpu"):
    generator = torch.Generator().manual_seed(0)
    network = Network(inputs)
    noise = torch.randn(configs, network.size, generator=generator)
    parameters = network.init(0).repeat(configs, 1) + 0.1 * noise
    x = torch.randn(rows, inputs, generator=generator)
    upstream = torch.randn(configs, rows, generator=generator) / rows
    parameters, x, upstream = (each.to(device) for each in (parameters, x, upstream))
    if device == "cpu":
        need_compiler()
    backend = backend_for(network.hidden, 1, parameters, x)
    assert backend is not None
    return network, parameters, x, upstream, backend


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", SIZES)
def test_predictions_and_gradients_are_those_of_the_plain_stack(size, device):
    network, parameters, x, upstream, backend = stack(*size, device)
    prediction, kept = backend.forward(network.shape, parameters, x)
    value, activations = network.forward_all(parameters.double(), x.double())
    torch.testing.assert_close(prediction.double(), value.squeeze(-1), rtol=0, atol=5e-6)
    gradient = backend.pullback(network.shape, parameters, x, kept, upstream)
    expected = network.pullback_all(parameters.double(), activations, upstream.double().unsqueeze(-1))
    torch.testing.assert_close(
        gradient.double(), expected, rtol=0, atol=GRADIENT_ERROR[device] * float(expected.abs().max())
    )


@pytest.mark.parametrize("device", DEVICES)
def test_descent_takes_the_steps_of_the_plain_stack(device):
    network, parameters, x, target, backend = stack(5, 900, 3, device)
    weight = torch.linspace(1, 2, 900, device=device)
    weight, rate = weight / weight.sum(), torch.tensor([0.05, 0.1, 0.2], device=device)
    before = parameters.clone()
    moved = backend.descend(network.shape, parameters, Regression(x, target, weight), rate, 20)
    expected = parameters.double()
    for _ in range(20):
        value, activations = network.forward_all(expected, x.double())
        slope = 2 * weight.double() * (value.squeeze(-1) - target.double())
        gradient = network.pullback_all(expected, activations, slope.unsqueeze(-1))
        expected = expected - rate.double().unsqueeze(1) * gradient
    torch.testing.assert_close(moved.double(), expected, rtol=0, atol={"cpu": 1e-5, "cuda": 2e-3}[device])
    assert torch.equal(parameters, before)


def test_activations_that_were_not_kept_are_computed_again(monkeypatch):
    network, parameters, x, upstream, backend = stack(7, 2000, 2)
    prediction, kept = backend.forward(network.shape, parameters, x)
    gradient = backend.pullback(network.shape, parameters, x, kept, upstream)
    monkeypatch.setattr("fairlevel.networks.backends.cpu.KEPT", 3999)
    again, nothing = backend.forward(network.shape, parameters, x)
    assert nothing == ()
    assert torch.equal(again, prediction)
    assert torch.equal(backend.pullback(network.shape, parameters, x, nothing, upstream), gradient)


def test_neighbours_and_threads_do_not_change_a_bit():
    network, parameters, x, upstream, backend = stack(7, 2000, 4)
    threads, some = torch.get_num_threads(), slice(2, 3)
    prediction, kept = backend.forward(network.shape, parameters, x)
    gradient = backend.pullback(network.shape, parameters, x, kept, upstream)
    try:
        torch.set_num_threads(3)
        alone, kept = backend.forward(network.shape, parameters[some], x)
        assert torch.equal(alone, prediction[some])
        assert torch.equal(backend.pullback(network.shape, parameters[some], x, kept, upstream[some]), gradient[some])
    finally:
        torch.set_num_threads(threads)


def test_what_diverged_stays_by_itself():
    network, parameters, x, _, backend = stack(3, 60, 3)
    clean, _ = backend.forward(network.shape, parameters, x)
    parameters[1] = torch.nan
    found, _ = backend.forward(network.shape, parameters, x)
    assert torch.isnan(found[1]).all()
    assert torch.equal(found[[0, 2]], clean[[0, 2]])
    parameters[1] = 1e30
    assert torch.equal(backend.forward(network.shape, parameters, x)[0][[0, 2]], clean[[0, 2]])


def test_tanh_is_right_from_the_smallest_to_the_largest():
    network, parameters, _, _, backend = stack(1, 1, 1)
    parameters.zero_()
    first = network.layers[0]
    parameters[0, first.weight] = 1.0
    values = torch.cat([torch.logspace(-20, 3, 500), -torch.logspace(-20, 3, 500), torch.zeros(1)])
    hidden = backend.forward(network.shape, parameters, values.unsqueeze(1))[1][0][0, :, 0]
    torch.testing.assert_close(hidden.double(), values.double().tanh(), rtol=4e-7, atol=0)


WITHOUT_A_COMPILER = """
import os, sys, torch
from unittest.mock import patch
from fairlevel.networks import backends
from fairlevel import compiled
from fairlevel.networks.network import Network
for change in sys.argv[1:]:
    for known in (backends._backend, backends._adam_backend, compiled.shared_library):
        known.cache_clear()
    with patch.dict(os.environ, [change.split("=")]):
        network, x = Network(3), torch.ones(4, 3)
        parameters = network.init(0).repeat(2, 1)
        assert network.backend(parameters, x) is None, change
        print(change, network.forward(parameters, x)[0].shape)
"""


def test_without_a_compiler_everything_still_works(tmp_path):
    """One process for three reasons, each as if it were the first: importing PyTorch takes longer than the rest."""
    changes = [f"{SWITCH}=off", "CC=false", "CC=no-such-compiler"]
    command = [sys.executable, "-c", WITHOUT_A_COMPILER, *changes]
    settings = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    result = subprocess.run(command, capture_output=True, text=True, env=settings, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [f"{change} torch.Size([2, 4])" for change in changes]


def test_differentiation_goes_around_compiled_code():
    network, parameters, x, _, _ = stack(3, 20, 2)
    moving = parameters.double().requires_grad_()
    network.forward(moving, x.double())[0].sum().backward()
    own = parameters.clone().requires_grad_()
    network.forward(own, x)[0].sum().backward()
    torch.testing.assert_close(own.grad.double(), moving.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_second_derivatives_are_those_of_autograd(device):
    network, parameters, x, target, backend = stack(5, 130, 2, device)
    direction = torch.randn(parameters.shape, generator=torch.Generator().manual_seed(1)).to(device)
    weight = torch.linspace(1, 2, 130, device=device)
    weight = weight / weight.sum()
    product, along = backend.second(network.shape, parameters, direction, Regression(x, 100 * target, weight))

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
        torch.testing.assert_close(product[config].double(), expected, rtol=0, atol=SECOND_ERROR[device] * scale)
        slope = torch.autograd.functional.jvp(value, row, way)[1]
        torch.testing.assert_close(along[config].double(), slope, rtol=0, atol=2e-5 * float(slope.abs().max()))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [(1, 1, 1), (5, 47, 3), (20, 1700, 2), (33, 800, 3), (64, 90, 2)])
def test_compiled_critics_have_the_losses_and_gradients_of_plain_ones(size, device):
    outputs, rows, configs = size
    generator = torch.Generator().manual_seed(0)
    network = Network(1, outputs=outputs)
    parameters = network.init(0).repeat(configs, 1) + 0.1 * torch.randn(configs, network.size, generator=generator)
    seen, target = torch.randn(configs, rows, generator=generator), torch.randn(rows, outputs, generator=generator)
    weight = torch.linspace(1, 2, rows)
    fit = CriticFit(seen, target, weight / weight.sum())
    there = CriticFit(*(each.to(device) for each in fit))
    if device == "cpu":
        need_compiler()
    assert critic_backend_for(network.hidden, parameters.to(device), there) is not None
    exact = CriticFit(*(each.double() for each in fit))
    gradient, expected = (
        critic_gradient(network, parameters.to(device), there),
        critic_gradient(network, parameters.double(), exact),
    )
    close = {"rtol": 0, "check_device": False, "check_dtype": False}
    torch.testing.assert_close(gradient, expected, atol=GRADIENT_ERROR[device] * float(expected.abs().max()), **close)
    found, wanted = critic_loss(network, parameters.to(device), there), critic_loss(network, parameters.double(), exact)
    torch.testing.assert_close(found.loss, wanted.loss, atol=1e-5, **close)
    torch.testing.assert_close(
        found.input_gradient,
        wanted.input_gradient,
        atol=GRADIENT_ERROR[device] * float(wanted.input_gradient.abs().max()),
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


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("final_fraction", [0.01, 1.0])
def test_steps_of_adam_at_once_are_those_one_by_one(final_fraction):
    adam, generator = Adam(steps=30, final_fraction=final_fraction), torch.Generator().manual_seed(0)
    exact = torch.randn(3, 1500, generator=generator, dtype=torch.float64)
    parameters, rate = exact.float().cuda(), torch.tensor([0.01, 0.03, 0.1])
    moments, exact_moments = adam.init(parameters), adam.init(exact)
    assert adam_backend_for(parameters, *moments) is not None
    for number in range(40):
        gradient = torch.randn(exact.shape, generator=generator)
        step = torch.tensor(float(number), dtype=torch.float64, device="cuda")
        adam.update(parameters, gradient.cuda(), moments, rate.cuda(), step)
        adam.update(exact, gradient.double(), exact_moments, rate.double(), number)
    torch.testing.assert_close(parameters.cpu().double(), exact, rtol=0, atol=1e-5)
    torch.testing.assert_close(moments.square.cpu().double(), exact_moments.square, rtol=1e-5, atol=0)

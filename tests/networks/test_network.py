import pytest
import torch

from fairlevel.networks.network import Network

SHAPES = [(3, ()), (3, (5,)), (7, (8, 4)), (24, (64, 64))]


@pytest.mark.parametrize(("inputs", "hidden"), SHAPES)
def test_pullback_is_autograd(inputs, hidden):
    network = Network(inputs, hidden)
    generator = torch.Generator().manual_seed(0)
    parameters = torch.randn(3, network.size, generator=generator, dtype=torch.float64) / 3
    x = torch.randn(11, inputs, generator=generator, dtype=torch.float64)
    g = torch.randn(3, 11, generator=generator, dtype=torch.float64)
    traced = parameters.clone().requires_grad_()
    prediction, activations = network.forward(traced, x)
    (expected,) = torch.autograd.grad((prediction * g).sum(), traced)
    torch.testing.assert_close(network.pullback(parameters, activations, g).detach(), expected, rtol=1e-12, atol=1e-14)


def test_forward_is_the_formula():
    network = Network(2, (3,))
    parameters = torch.randn(1, network.size, dtype=torch.float64)
    x = torch.randn(5, 2, dtype=torch.float64)
    first, second = network.layers
    w1, b1 = parameters[0, first.weight].reshape(2, 3), parameters[0, first.bias]
    w2, b2 = parameters[0, second.weight].reshape(3, 1), parameters[0, second.bias]
    torch.testing.assert_close(network.forward(parameters, x)[0][0], (torch.tanh(x @ w1 + b1) @ w2 + b2)[:, 0])


def test_pullback_can_be_differentiated_again():
    network = Network(2, (4,))
    x = torch.randn(6, 2, dtype=torch.float64)

    def squared_gradient(parameters):
        prediction, activations = network.forward(parameters, x)
        return network.pullback(parameters, activations, prediction).square().sum()

    parameters = (torch.randn(1, network.size, dtype=torch.float64) / 2).requires_grad_()
    assert torch.autograd.gradcheck(squared_gradient, parameters)


@pytest.mark.parametrize(("inputs", "hidden"), SHAPES)
def test_every_weight_starts_on_a_64_byte_boundary(inputs, hidden):
    network = Network(inputs, hidden)
    assert network.size % 16 == 0
    assert all(layer.weight.start % 16 == 0 and layer.bias.start % 16 == 0 for layer in network.layers)


def test_init_depends_on_the_seed_alone():
    network = Network(5, (64, 64))
    assert torch.equal(network.init(3), network.init(3))
    assert not torch.equal(network.init(3), network.init(4))
    assert not Network(5, ()).init(3).any()

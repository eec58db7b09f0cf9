r"""Gradient steps of a stack on squared loss: by compiled code, or in PyTorch on blocks of rows that stay in cache.

.. math:: \phi_c \leftarrow \phi_c - \eta_c \nabla_{\phi_c} \sum_i w_i \big(h_{\phi_c}(x_i) - t_{ci}\big)^2
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from fairlevel.stacked.backends import Regression
from fairlevel.stacked.network import Layer, Network

ROWS = 256  # that go forward and back together on a CPU


@torch.no_grad()
def descended(network: Network, parameters: Tensor, fit: Regression, rate: Tensor, steps: int) -> Tensor:
    """New parameters, (config, parameter), of networks with two hidden layers and one output; rate (config,)."""
    backend = network.backend(parameters, *fit, rate)
    if backend is not None:
        return backend.descend(network.shape, parameters, fit, rate, steps)
    moving = parameters.clone()
    layers = [_Layer(moving, layer) for layer in network.layers]
    blocks = list(_blocks(fit.x, len(moving), network.hidden))
    target, twice, step_size = fit.target.unsqueeze(-1), 2 * fit.row_weight.unsqueeze(-1), rate.view(-1, 1, 1)
    for _ in range(steps):
        for rows, block in blocks:
            error = block.value(layers).sub_(target[:, rows])
            block.add_slopes(layers, error.mul_(twice[rows]))
        for layer in layers:
            layer.follow(step_size)
    return moving


class _Layer:
    """Inside the parameters: weight (config, in, out), bias (config, 1, out), and the slopes gathered so far."""

    def __init__(self, parameters: Tensor, layer: Layer) -> None:
        self.weight = parameters[:, layer.weight].view(len(parameters), *layer.shape)
        self.bias = parameters[:, layer.bias].unsqueeze(1)
        self.turned = self.weight.transpose(1, 2)
        self.of_weight, self.of_bias = self.weight.new_zeros(self.weight.shape), self.bias.new_zeros(self.bias.shape)

    def follow(self, step_size: Tensor) -> None:
        """A step against the slopes, which are then forgotten."""
        self.weight.addcmul_(self.of_weight, step_size, value=-1)
        self.bias.addcmul_(self.of_bias, step_size, value=-1)
        self.of_weight.zero_()
        self.of_bias.zero_()


def _blocks(x: Tensor, configs: int, hidden: tuple[int, ...]) -> Iterator[tuple[slice, _Block]]:
    """Blocks of rows, all with the same room; on a GPU one of all rows."""
    size = min(ROWS, len(x)) if x.device.type == "cpu" else len(x)
    room = [(x.new_empty(configs * size * width), width) for width in hidden * 2]
    for start in range(0, len(x), size):
        rows = slice(start, min(start + size, len(x)))
        yield rows, _Block(x[rows], configs, room)


class _Block:
    """Some rows, x (config, row, input), with room for both activations and for what comes down to them,
    (config, row, unit) each and without gaps: fast products want it so.
    """

    def __init__(self, x: Tensor, configs: int, room: list[tuple[Tensor, int]]) -> None:
        self._x = x.expand(configs, *x.shape)
        self._z1, self._z2, self._d1, self._d2 = (
            piece[: configs * len(x) * width].view(configs, len(x), width) for piece, width in room
        )

    def value(self, layers: list[_Layer]) -> Tensor:
        """h (config, row, 1); the last layer as a sum, since products with a single column are slow."""
        first, second, last = layers
        torch.baddbmm(first.bias, self._x, first.weight, out=self._z1).tanh_()
        torch.baddbmm(second.bias, self._z1, second.weight, out=self._z2).tanh_()
        return torch.mul(self._z2, last.turned, out=self._d2).sum(dim=-1, keepdim=True).add_(last.bias)

    def add_slopes(self, layers: list[_Layer], pull: Tensor) -> None:
        """Σ_i g_i ∂h_i of the rows last evaluated; pull g (config, row, 1)."""
        first, second, last = layers
        last.of_weight += torch.mul(self._z2, pull, out=self._d2).sum(dim=1).unsqueeze(-1)
        last.of_bias += pull.sum(dim=1, keepdim=True)
        _through_tanh(torch.mul(pull, last.turned, out=self._d2), self._z2)
        second.of_weight.baddbmm_(self._z1.transpose(1, 2), self._d2)
        second.of_bias += self._d2.sum(dim=1, keepdim=True)
        _through_tanh(torch.bmm(self._d2, second.turned, out=self._d1), self._z1)
        first.of_weight.baddbmm_(self._x.transpose(1, 2), self._d1)
        first.of_bias += self._d1.sum(dim=1, keepdim=True)


def _through_tanh(down: Tensor, activation: Tensor) -> None:
    """Times 1 − tanh², in place and in one pass."""
    torch.ops.aten.tanh_backward.grad_input(down, activation, grad_input=down)

r"""Gradient steps of a stack on squared loss: by compiled code, or in PyTorch on blocks of rows that stay in cache.

.. math:: \phi_c \leftarrow \phi_c - \eta_c \nabla_{\phi_c} \sum_i w_i \big(h_{\phi_c}(x_i) - t_{ci}\big)^2
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from fairlevel.stacked.backends import Regression
from fairlevel.stacked.network import Network


@torch.no_grad()
def descended(network: Network, parameters: Tensor, fit: Regression, rate: Tensor, steps: int) -> Tensor:
    """New parameters, (config, parameter), of networks with two hidden layers and one output; rate (config,)."""
    backend = network.backend(parameters, *fit, rate)
    if backend is not None:
        return backend.descend(network.shape, parameters, fit, rate, steps)
    stack = _Stack(network, parameters)
    blocks = list(_blocks(fit.x, len(parameters), network.hidden))
    target, twice, step_size = fit.target.unsqueeze(-1), 2 * fit.row_weight.unsqueeze(-1), rate.view(-1, 1, 1)
    for _ in range(steps):
        stack.prepare(target)
        for rows, block in blocks:
            block.add_slopes(stack, block.error(stack, rows).mul_(twice[rows]))
        stack.follow(step_size)
    return stack.joined()


class _Stack:
    """Parameters taken apart, and the slopes gathered so far.

    Shapes: first (config, input + 1, unit), its bias being the weight of an input that is always 1; second (config,
    unit, unit) and bias (config, 1, unit); last (config, unit, 1) and last_bias (config, 1, 1).
    """

    def __init__(self, network: Network, parameters: Tensor) -> None:
        self._network, self._parameters = network, parameters
        (first, first_bias), (self.second, self.bias), (self.last, self.last_bias) = (
            (parameters[:, layer.weight].clone().view(-1, *layer.shape), parameters[:, layer.bias].unsqueeze(1).clone())
            for layer in network.layers
        )
        self.first = torch.cat([first, first_bias], dim=1)
        self._moving = (self.first, self.second, self.bias, self.last, self.last_bias)
        self.slopes = tuple(torch.zeros_like(piece) for piece in self._moving)

    def prepare(self, target: Tensor) -> None:
        """What all blocks of a step share: the second layer turned, and last bias minus target (config, row, 1)."""
        self.turned = self.second.transpose(1, 2).contiguous()  # products with a view of it take a third longer
        self.offset = self.last_bias - target

    def follow(self, step_size: Tensor) -> None:
        """A step against the slopes, which are then forgotten."""
        for piece, slope in zip(self._moving, self.slopes, strict=True):
            piece.addcmul_(slope, step_size, value=-1)
            slope.zero_()

    def joined(self) -> Tensor:
        """Parameters in one piece, (config, parameter)."""
        whole = self._parameters.clone()
        first, first_bias = self.first[:, :-1], self.first[:, -1]
        pairs = ((first, first_bias), (self.second, self.bias), (self.last, self.last_bias))
        for layer, (weight, bias) in zip(self._network.layers, pairs, strict=True):
            whole[:, layer.weight], whole[:, layer.bias] = weight.flatten(1), bias.flatten(1)
        return whole


def _blocks(x: Tensor, configs: int, hidden: tuple[int, ...]) -> Iterator[tuple[slice, _Block]]:
    """Blocks of rows, all with the same room; on a GPU one of all rows."""
    size = _block_rows(len(x)) if x.device.type == "cpu" else len(x)
    room = [(x.new_empty(configs * size * width), width) for width in hidden * 2]
    x = torch.cat([x, x.new_ones(len(x), 1)], dim=1)
    for start in range(0, len(x), size):
        rows = slice(start, min(start + size, len(x)))
        yield rows, _Block(x[rows], configs, room)


def _block_rows(rows: int) -> int:
    """How many rows go forward and back together on a CPU; more where rows are many, since fewer configurations are
    trained together then. By rows alone: a configuration's sums must not depend on how many others there are.
    """
    return min(rows, 256 if rows <= 2000 else 512)


class _Block:
    """Some rows, x (config, row, input + 1), with room for both activations and for what comes down to them,
    (config, row, unit) each and without gaps: fast products want it so.
    """

    def __init__(self, x: Tensor, configs: int, room: list[tuple[Tensor, int]]) -> None:
        self._x = x.expand(configs, *x.shape)
        self._ones = self._x[:, :, -1:]
        self._z1, self._z2, self._d1, self._d2 = (
            piece[: configs * len(x) * width].view(configs, len(x), width) for piece, width in room
        )

    def error(self, stack: _Stack, rows: slice) -> Tensor:
        """h − target, (config, row, 1)."""
        torch.bmm(self._x, stack.first, out=self._z1).tanh_()
        torch.baddbmm(stack.bias, self._z1, stack.second, out=self._z2).tanh_()
        return torch.baddbmm(stack.offset[:, rows], self._z2, stack.last)

    def add_slopes(self, stack: _Stack, pull: Tensor) -> None:
        """Σ_i g_i ∂h_i of the rows last evaluated; pull g (config, row, 1). Sums over rows are products, too."""
        first, second, bias, last, last_bias = stack.slopes
        last.transpose(1, 2).baddbmm_(pull.transpose(1, 2), self._z2)
        last_bias.baddbmm_(pull.transpose(1, 2), self._ones)
        _through_tanh(torch.mul(pull, stack.last.transpose(1, 2), out=self._d2), self._z2)
        second.baddbmm_(self._z1.transpose(1, 2), self._d2)
        bias.baddbmm_(self._ones.transpose(1, 2), self._d2)
        _through_tanh(torch.bmm(self._d2, stack.turned, out=self._d1), self._z1)
        first.baddbmm_(self._x.transpose(1, 2), self._d1)


def _through_tanh(down: Tensor, activation: Tensor) -> None:
    """Times 1 − tanh², in place and in one pass."""
    torch.ops.aten.tanh_backward.grad_input(down, activation, grad_input=down)

r"""Gradient steps of a stack on squared loss: by compiled code, or in PyTorch on blocks of rows that stay in cache.

.. math:: \phi_c \leftarrow \phi_c - \eta_c \nabla_{\phi_c} \sum_i w_i \big(h_{\phi_c}(x_i) - t_{ci}\big)^2

Tiles of a grid run in threads of one interpreter, which they have to share between calls, views included. So everything
has its room and its views before the first step, and a step consists of the calls that compute.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from fairlevel.networks.backends import Regression
from fairlevel.networks.network import Network


@torch.no_grad()
def descended(network: Network, parameters: Tensor, fit: Regression, rate: Tensor, steps: int) -> Tensor:
    """New parameters, (config, parameter), of networks with two hidden layers and one output; rate (config,)."""
    backend = network.backend(parameters, *fit, rate)
    if backend is not None:
        return backend.descend(network.shape, parameters, fit, rate, steps)
    stack, pull = _Stack(network, parameters), _Pull(fit)
    blocks = list(_blocks(fit.x, network.hidden, stack, pull))
    step_size = rate.view(-1, 1, 1)
    for _ in range(steps):
        stack.prepare()
        pull.prepare(stack.last_bias)
        for block in blocks:
            block.add_slopes()
        stack.follow(step_size, pull.total())
    return stack.joined()


class _Stack:
    """Parameters taken apart, and the slopes gathered so far.

    Shapes: first (config, input + 1, unit), its bias being the weight of an input that is always 1; second (config,
    unit, unit) and bias (config, 1, unit); last (config, unit, 1) and last_bias (config, 1, 1). What comes down through
    the last layer carries its weights as a factor of every column: it is left out of the rows, and put into ``turned``
    and into the sums.
    """

    def __init__(self, network: Network, parameters: Tensor) -> None:
        self._network, self._parameters = network, parameters
        (first, first_bias), (self.second, self.bias), (self.last, self.last_bias) = (
            (parameters[:, layer.weight].clone().view(-1, *layer.shape), parameters[:, layer.bias].unsqueeze(1).clone())
            for layer in network.layers
        )
        self.first = torch.cat([first, first_bias], dim=1)
        self._moving = (self.first, self.second, self.bias, self.last)
        self.slopes = tuple(torch.zeros_like(piece) for piece in self._moving)
        self.turned = self.second.transpose(1, 2).contiguous()

    def prepare(self) -> None:
        """What all blocks of a step share: the second layer turned, times the last, without gaps."""
        torch.mul(self.last, self.second.transpose(1, 2), out=self.turned)

    def follow(self, step_size: Tensor, last_bias_slope: Tensor) -> None:
        """A step against the slopes, which are then forgotten."""
        _, second, bias, _ = self.slopes
        for below_last in (second, bias):
            below_last.mul_(self.last.transpose(1, 2))
        for piece, slope in zip(self._moving, self.slopes, strict=True):
            piece.addcmul_(slope, step_size, value=-1)
            slope.zero_()
        self.last_bias.addcmul_(last_bias_slope, step_size, value=-1)

    def joined(self) -> Tensor:
        """Parameters in one piece, (config, parameter)."""
        whole = self._parameters.clone()
        first, first_bias = self.first[:, :-1], self.first[:, -1]
        pairs = ((first, first_bias), (self.second, self.bias), (self.last, self.last_bias))
        for layer, (weight, bias) in zip(self._network.layers, pairs, strict=True):
            whole[:, layer.weight], whole[:, layer.bias] = weight.flatten(1), bias.flatten(1)
        return whole


class _Pull:
    """Slopes of the loss in the predictions, 2 w_i (h_i − t_i), as ``scale`` · (h without last bias) + ``constant``.

    Shapes: scale (row, 1); constant and value, where blocks leave what they found, (config, row, 1).
    """

    def __init__(self, fit: Regression) -> None:
        self.scale = 2 * fit.row_weight.unsqueeze(-1)
        self._minus_target = -self.scale * fit.target.unsqueeze(-1)
        self.constant, self.value = torch.empty_like(self._minus_target), torch.empty_like(self._minus_target)

    def prepare(self, last_bias: Tensor) -> None:
        torch.addcmul(self._minus_target, self.scale, last_bias, out=self.constant)

    def total(self) -> Tensor:
        """The slope in the last bias, (config, 1, 1)."""
        return self.value.sum(dim=1, keepdim=True)


def _blocks(x: Tensor, hidden: tuple[int, ...], stack: _Stack, pull: _Pull) -> Iterator[_Block]:
    """Blocks of rows, all with the same room; on a GPU one of all rows."""
    configs, size = len(stack.last), _block_rows(len(x)) if x.device.type == "cpu" else len(x)
    room = [(x.new_empty(configs * size * width), width) for width in (*hidden * 2, 1)]
    x = torch.cat([x, x.new_ones(len(x), 1)], dim=1)
    for start in range(0, len(x), size):
        yield _Block(x, slice(start, min(start + size, len(x))), stack, pull, room)


def _block_rows(rows: int) -> int:
    """How many rows go forward and back together on a CPU; more where rows are many, since fewer configurations are
    trained together then. By rows alone: a configuration's sums must not depend on how many others there are.
    """
    return min(rows, 256 if rows <= 2000 else 512)


class _Block:
    """Some rows, with room for both activations z, for what comes down to them d, and for predictions h, (config, row,
    unit) each and without gaps: fast products want it so.
    """

    def __init__(self, x: Tensor, rows: slice, stack: _Stack, pull: _Pull, room: list[tuple[Tensor, int]]) -> None:
        x, configs = x[rows], len(stack.last)
        self._stack, self._x = stack, x.expand(configs, *x.shape)
        self._z1, self._z2, self._d1, self._d2, self._h = (
            piece[: configs * len(x) * width].view(configs, len(x), width) for piece, width in room
        )
        self._scale, self._constant, self._pull = pull.scale[rows], pull.constant[:, rows], pull.value[:, rows]
        self._wide_pull = self._pull.expand_as(self._z2)
        turned = (part.transpose(1, 2) for part in (self._x, self._x[:, :, -1:], self._z1, self._pull))
        self._x_turned, self._ones_turned, self._z1_turned, self._pull_turned = turned
        self._first, self._second, self._bias, last = stack.slopes
        self._last_turned = last.transpose(1, 2)

    def add_slopes(self) -> None:
        """Σ_i g_i ∂h_i, g being the pull. Sums over rows are products, too."""
        stack = self._stack
        torch.bmm(self._x, stack.first, out=self._z1).tanh_()
        torch.baddbmm(stack.bias, self._z1, stack.second, out=self._z2).tanh_()
        torch.bmm(self._z2, stack.last, out=self._h)
        torch.addcmul(self._constant, self._h, self._scale, out=self._pull)
        self._last_turned.baddbmm_(self._pull_turned, self._z2)
        _times_slope(self._wide_pull, self._z2, self._d2)
        self._second.baddbmm_(self._z1_turned, self._d2)
        self._bias.baddbmm_(self._ones_turned, self._d2)
        _times_slope(torch.bmm(self._d2, stack.turned, out=self._d1), self._z1, self._d1)
        self._first.baddbmm_(self._x_turned, self._d1)


def _times_slope(down: Tensor, activation: Tensor, out: Tensor) -> None:
    """Times 1 − tanh², in one pass."""
    torch.ops.aten.tanh_backward.grad_input(down, activation, grad_input=out)

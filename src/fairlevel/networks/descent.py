r"""Gradient steps of many networks on squared loss: by kernels on a GPU, or on blocks of rows that fit a cache.

.. math:: \phi_c \leftarrow \phi_c - \eta_c \nabla_{\phi_c} \sum_i w_i \big(h_{\phi_c}(x_i) - t_{ci}\big)^2

Several grids may be trained in threads of one Python interpreter, and every Python operation, even taking a view, makes
the other threads wait. So all buffers and views are made before the first step; a step only computes.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from fairlevel.networks.fits import Regression
from fairlevel.networks.network import Network


@torch.no_grad()
def gradient_steps(network: Network, parameters: Tensor, fit: Regression, rate: Tensor, steps: int) -> Tensor:
    """New parameters, (config, parameter), of networks with two hidden layers and one output; rate (config,)."""
    kernels = network.kernels(parameters, *fit, rate)
    if kernels is not None:
        return kernels.descend(network.shape, parameters, fit, rate, steps)
    stack, at_prediction = _Stack(network, parameters), _PredictionGradient(fit)
    blocks = list(_blocks(fit.x, network.hidden, stack, at_prediction))
    step_size = rate.view(-1, 1, 1)
    for _ in range(steps):
        stack.prepare()
        at_prediction.prepare(stack.last_bias)
        for block in blocks:
            block.add_gradients()
        stack.update(step_size, at_prediction.total())
    return stack.joined()


class _Stack:
    """The parameters of all networks, split by layer, and the gradients collected so far in a step.

    Shapes: first (config, input + 1, unit), its last row being the bias, the weight of an input that is always 1;
    second (config, unit, unit) and bias (config, 1, unit); last (config, unit, 1) and last_bias (config, 1, 1). The
    gradient below the last layer has the last weights as a factor of every column. Blocks leave this factor out; it is
    multiplied in once per step, in ``transposed`` and in :meth:`update`.
    """

    def __init__(self, network: Network, parameters: Tensor) -> None:
        self._network, self._parameters = network, parameters
        (first, first_bias), (self.second, self.bias), (self.last, self.last_bias) = (
            (parameters[:, layer.weight].clone().view(-1, *layer.shape), parameters[:, layer.bias].unsqueeze(1).clone())
            for layer in network.layers
        )
        self.first = torch.cat([first, first_bias], dim=1)
        self._pieces = (self.first, self.second, self.bias, self.last)
        self.gradients = tuple(torch.zeros_like(piece) for piece in self._pieces)
        self.transposed = self.second.transpose(1, 2).contiguous()

    def prepare(self) -> None:
        """Compute what all blocks of a step share: the second layer, transposed, times the last."""
        torch.mul(self.last, self.second.transpose(1, 2), out=self.transposed)

    def update(self, step_size: Tensor, last_bias_gradient: Tensor) -> None:
        """Take a step against the gradients and set them back to zero."""
        _, second, bias, _ = self.gradients
        for below_last in (second, bias):
            below_last.mul_(self.last.transpose(1, 2))
        for piece, gradient in zip(self._pieces, self.gradients, strict=True):
            piece.addcmul_(gradient, step_size, value=-1)
            gradient.zero_()
        self.last_bias.addcmul_(last_bias_gradient, step_size, value=-1)

    def joined(self) -> Tensor:
        """The parameters as one tensor again, (config, parameter)."""
        whole = self._parameters.clone()
        first, first_bias = self.first[:, :-1], self.first[:, -1]
        pairs = ((first, first_bias), (self.second, self.bias), (self.last, self.last_bias))
        for layer, (weight, bias) in zip(self._network.layers, pairs, strict=True):
            whole[:, layer.weight], whole[:, layer.bias] = weight.flatten(1), bias.flatten(1)
        return whole


class _PredictionGradient:
    """The gradient of the loss in the predictions, 2 w_i (h_i − t_i), as ``scale`` · (h without last bias) +
    ``constant``.

    Shapes: scale (row, 1); constant, and value, into which blocks write their rows, (config, row, 1).
    """

    def __init__(self, fit: Regression) -> None:
        self.scale = 2 * fit.row_weight.unsqueeze(-1)
        self._minus_target = -self.scale * fit.target.unsqueeze(-1)
        self.constant, self.value = torch.empty_like(self._minus_target), torch.empty_like(self._minus_target)

    def prepare(self, last_bias: Tensor) -> None:
        torch.addcmul(self._minus_target, self.scale, last_bias, out=self.constant)

    def total(self) -> Tensor:
        """The gradient in the last bias, (config, 1, 1)."""
        return self.value.sum(dim=1, keepdim=True)


def _blocks(x: Tensor, hidden: tuple[int, ...], stack: _Stack, at_prediction: _PredictionGradient) -> Iterator[_Block]:
    """Blocks of rows that share their buffers; on a GPU a single block of all rows."""
    configs, size = len(stack.last), _block_rows(len(x)) if x.device.type == "cpu" else len(x)
    buffers = [(x.new_empty(configs * size * width), width) for width in (*hidden * 2, 1)]
    x = torch.cat([x, x.new_ones(len(x), 1)], dim=1)
    for start in range(0, len(x), size):
        yield _Block(x, slice(start, min(start + size, len(x))), stack, at_prediction, buffers)


def _block_rows(rows: int) -> int:
    """Rows per block on a CPU. Blocks are larger where rows are many, since fewer configurations are then trained
    together.
    """
    return min(rows, 256 if rows <= 2000 else 512)


class _Block:
    """Some rows, with views of the shared buffers: both activations z, the gradients d at them, and the predictions h,
    (config, row, unit) each, without gaps in memory because products are then faster.
    """

    def __init__(
        self,
        x: Tensor,
        rows: slice,
        stack: _Stack,
        at_prediction: _PredictionGradient,
        buffers: list[tuple[Tensor, int]],
    ) -> None:
        x, configs = x[rows], len(stack.last)
        self._stack, self._x = stack, x.expand(configs, *x.shape)
        self._z1, self._z2, self._d1, self._d2, self._h = (
            piece[: configs * len(x) * width].view(configs, len(x), width) for piece, width in buffers
        )
        self._scale, self._constant = at_prediction.scale[rows], at_prediction.constant[:, rows]
        self._g = at_prediction.value[:, rows]
        self._wide_g = self._g.expand_as(self._z2)
        transposed = (part.transpose(1, 2) for part in (self._x, self._x[:, :, -1:], self._z1, self._g))
        self._x_transposed, self._ones_transposed, self._z1_transposed, self._g_transposed = transposed
        self._first, self._second, self._bias, last = stack.gradients
        self._last_transposed = last.transpose(1, 2)

    def add_gradients(self) -> None:
        """Add Σ_i g_i ∂h_i over the rows of this block, g being the gradient in the predictions; sums over rows are
        matrix products, too.
        """
        stack = self._stack
        torch.bmm(self._x, stack.first, out=self._z1).tanh_()
        torch.baddbmm(stack.bias, self._z1, stack.second, out=self._z2).tanh_()
        torch.bmm(self._z2, stack.last, out=self._h)
        torch.addcmul(self._constant, self._h, self._scale, out=self._g)
        self._last_transposed.baddbmm_(self._g_transposed, self._z2)
        _through_tanh(self._wide_g, self._z2, self._d2)
        self._second.baddbmm_(self._z1_transposed, self._d2)
        self._bias.baddbmm_(self._ones_transposed, self._d2)
        _through_tanh(torch.bmm(self._d2, stack.transposed, out=self._d1), self._z1, self._d1)
        self._first.baddbmm_(self._x_transposed, self._d1)


def _through_tanh(gradient: Tensor, activation: Tensor, out: Tensor) -> None:
    """The gradient times 1 − tanh², in one pass."""
    torch.ops.aten.tanh_backward.grad_input(gradient, activation, grad_input=out)

r"""Many small tanh networks of one shape as a single tensor; each network is one configuration of a grid.

The parameters of all networks are one matrix (config, parameter), so that an optimiser, a snapshot or a file handles
all of them in one operation, whatever their layers. Layer l of configuration c computes

.. math:: z^{l}_c = \tanh(z^{l-1}_c W^{l}_c + b^{l}_c), \qquad f_c = z^{L-1}_c W^{L}_c + b^{L}_c .

``hidden=()`` is a linear model. Predictors and conditional means have one output and use :meth:`Network.forward` and
:meth:`Network.pullback`. A critic has one output per attribute and a different input in each configuration; it uses
:meth:`Network.forward_all` and :meth:`Network.pullback_all`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod, sqrt
from typing import TypeAlias

import torch
from torch import Tensor

from fairlevel.members.layout import Layer, Layout, aligned
from fairlevel.networks.on_gpu import Kernels, Shape, kernels_for
from fairlevel.penalties.toolkit import row_blocks

Kept: TypeAlias = tuple[tuple[Tensor, ...], ...]
"""What the pullback needs, per block of rows: inputs, then activations, (config, row, unit); on a GPU the inputs alone,
from which activations are computed again.
"""


@dataclass(frozen=True)
class Network(Layout):
    """A fully connected tanh network of this shape."""

    def init(self, seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Start values, (parameter,): Xavier-uniform weights and zero biases; all zero for a linear model."""
        generator = torch.Generator().manual_seed(seed)
        row = torch.zeros(self.size, dtype=dtype)
        for layer in self.layers if self.hidden else ():
            bound = sqrt(6 / sum(layer.shape))
            draw = torch.rand(prod(layer.shape), generator=generator, dtype=torch.float64)
            row[layer.weight] = ((2 * draw - 1) * bound).to(dtype)
        return row

    def forward(self, parameters: Tensor, x: Tensor) -> tuple[Tensor, Kept]:
        """Predictions of networks with one output, and what the pullback needs.

        Shapes: parameters (config, parameter), x (sample, input) -> (config, sample).
        """
        kernels = self.kernels(parameters, x)
        if kernels is not None:
            return kernels.forward(self.shape, parameters, x), ((x.expand(len(parameters), *x.shape),),)
        blocks = [self.forward_all(parameters, x[rows]) for rows in row_blocks(len(x), x)]
        return _joined(signal for signal, _ in blocks), tuple(activations for _, activations in blocks)

    def predict(self, parameters: Tensor, x: Tensor) -> Tensor:
        """Predictions as from :meth:`forward`, without what the pullback needs."""
        kernels = self.kernels(parameters, x)
        if kernels is not None:
            return kernels.forward(self.shape, parameters, x)
        return _joined(self.forward_all(parameters, x[rows])[0] for rows in row_blocks(len(x), x))

    def forward_all(self, parameters: Tensor, x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """All outputs: x (sample, input), or (config, sample, input) -> (config, sample, output), activations."""
        signal = x.expand(len(parameters), *x.shape[-2:])
        activations = [signal]
        *hidden, last = self.layers
        for layer in hidden:
            weight, bias = _unpack(parameters, layer)
            signal = torch.baddbmm(bias, signal, weight).tanh_()
            activations.append(signal)
        weight, bias = _unpack(parameters, last)
        return torch.baddbmm(bias, signal, weight), tuple(activations)

    def pullback(self, parameters: Tensor, kept: Kept, gradient: Tensor) -> Tensor:
        r"""Vector-Jacobian product: Σ_i g_ci ∂f_ci/∂(parameters of c).

        Shapes: gradient (config, sample) -> (config, parameter). Autograd can differentiate the result once more, for
        unrolled steps.
        """
        x = kept[0][0]
        if len(kept) == 1 and (x.stride(0) == 0 or len(x) == 1):  # all configurations read the same rows
            kernels = self.kernels(parameters, x[0], gradient)
            if kernels is not None:
                return kernels.pullback(self.shape, parameters, x[0], gradient)
        gradients = torch.split(gradient, [block[0].shape[1] for block in kept], dim=1)
        return reduce(
            torch.add,
            (
                self.pullback_all(parameters, self._all_activations(parameters, block), part.unsqueeze(-1))
                for block, part in zip(kept, gradients, strict=True)
            ),
        )

    def _all_activations(self, parameters: Tensor, block: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The activations of a block, computed again where they were not kept."""
        return block if len(block) == len(self.layers) else self.forward_all(parameters, block[0])[1]

    def kernels(self, *tensors: Tensor) -> Kernels | None:
        """Those for this network on these tensors, (config, parameter) and (sample, input) first; or None."""
        return kernels_for(self.hidden, self.outputs, *tensors)

    @cached_property
    def shape(self) -> Shape:
        """The layout of the parameters, in the form that kernels read."""
        return Shape.of(self.size, self.layers)

    def pullback_all(self, parameters: Tensor, activations: Sequence[Tensor], gradient: Tensor) -> Tensor:
        """The same for all outputs: gradient (config, sample, output) -> (config, parameter)."""
        pieces: list[Tensor] = []
        for layer, below, upstream in self._downwards(parameters, activations, gradient):
            # in this order of factors a single output costs a third; several outputs cost the same in either order
            weight_gradient = torch.bmm(upstream.transpose(1, 2), below).transpose(1, 2).flatten(1)
            pieces += [
                *_padding(gradient, layer.bias.stop),
                upstream.sum(dim=1),
                *_padding(gradient, layer.weight.stop),
                weight_gradient,
            ]
        return torch.cat(pieces[::-1], dim=1)

    def input_pullback(self, parameters: Tensor, activations: tuple[Tensor, ...], gradient: Tensor) -> Tensor:
        """Gradient in the inputs: gradient (config, sample, output) -> (config, sample, input)."""
        for layer, _, upstream in self._downwards(parameters, activations, gradient):
            weight, _ = _unpack(parameters, layer)
            signal = upstream @ weight.transpose(1, 2)
        return signal

    def _downwards(
        self, parameters: Tensor, activations: Sequence[Tensor], upstream: Tensor
    ) -> Iterator[tuple[Layer, Tensor, Tensor]]:
        """From the last layer to the first: the layer, its input, and the gradient at its output."""
        for depth in reversed(range(len(self.layers))):
            layer, below = self.layers[depth], activations[depth]
            yield layer, below, upstream
            if depth:
                weight, _ = _unpack(parameters, layer)
                transposed = weight.transpose(1, 2).contiguous()  # products with a view take a third longer
                upstream = torch.bmm(upstream, transposed)
                upstream = torch.ops.aten.tanh_backward(upstream, below)  # times 1 − tanh², in one pass


def _padding(like: Tensor, stop: int) -> tuple[Tensor, ...]:
    """Zeros up to the next aligned parameter, where there are any."""
    missing = aligned(stop) - stop
    return (like.new_zeros(len(like), missing),) if missing else ()


def _joined(signals: Iterable[Tensor]) -> Tensor:
    """Single outputs of all blocks of rows, (config, row, 1) each -> (config, sample)."""
    blocks = list(signals)
    return (blocks[0] if len(blocks) == 1 else torch.cat(blocks, dim=1)).squeeze(-1)


def _unpack(parameters: Tensor, layer: Layer) -> tuple[Tensor, Tensor]:
    weight = parameters[:, layer.weight].view(len(parameters), *layer.shape)
    return weight, parameters[:, layer.bias].unsqueeze(1)

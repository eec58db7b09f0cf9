"""Where the layers of a fully connected network lie in a row of parameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import NamedTuple

# Numbers of 32 bits in 64 bytes: weights and biases start on such a boundary, as vector code likes it; saved models,
# too.
_ALIGNMENT = 16


class Layer(NamedTuple):
    """Where the weight and bias of a layer lie in a row of parameters, and the shape of the weight, (inputs,
    outputs).
    """

    weight: slice
    bias: slice
    shape: tuple[int, int]


@dataclass(frozen=True)
class Layout:
    """The shape of a fully connected network; ``hidden=()`` is a linear model."""

    inputs: int
    hidden: tuple[int, ...] = (64, 64)
    outputs: int = 1

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        widths = (self.inputs, *self.hidden, self.outputs)
        layers, start = [], 0
        for shape in pairwise(widths):
            weight = slice(start, start + prod(shape))
            bias_start = aligned(weight.stop)
            bias = slice(bias_start, bias_start + shape[1])
            layers.append(Layer(weight, bias, shape))
            start = aligned(bias.stop)
        return tuple(layers)

    @property
    def size(self) -> int:
        """Length of one row of parameters, padding included."""
        return aligned(self.layers[-1].bias.stop)


def aligned(position: int) -> int:
    """The position, rounded up to a boundary."""
    return -(-position // _ALIGNMENT) * _ALIGNMENT

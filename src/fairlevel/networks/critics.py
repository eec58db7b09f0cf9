r"""Stacks of critics: networks that see one number a row and guess several.

.. math:: L_c = \sum_i w_i \tfrac1k \|g_c(u_{ci}) - a_i\|^2

Shapes as in :class:`Guessing`: u (config, row), a (row, output), w (row,).
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from fairlevel.networks.backends import Guessing, critics_for
from fairlevel.networks.network import Network


class Verdict(NamedTuple):
    """L (config,) and ∂L/∂u (config, row)."""

    loss: Tensor
    pull: Tensor


def descent(network: Network, parameters: Tensor, guessing: Guessing) -> Tensor:
    """∂L/∂parameters, (config, parameter)."""
    backend = critics_for(network.hidden, parameters, guessing)
    if backend is not None:
        return backend.guess(network.shape, parameters, guessing).gradient
    guess, activations = network.forward_all(parameters, guessing.seen.unsqueeze(-1))
    return network.pullback_all(parameters, activations, _slope(guess, guessing))


def verdict(network: Network, parameters: Tensor, guessing: Guessing) -> Verdict:
    """The loss, and how it changes with what the critics see."""
    backend = critics_for(network.hidden, parameters, guessing)
    if backend is not None:
        errors = backend.guess(network.shape, parameters, guessing)
        return Verdict(errors.loss, errors.pull)
    guess, activations = network.forward_all(parameters, guessing.seen.unsqueeze(-1))
    loss = (guess - guessing.target).square().mean(dim=-1) @ guessing.row_weight
    return Verdict(loss, network.input_pullback(parameters, activations, _slope(guess, guessing)).squeeze(-1))


def _slope(guess: Tensor, guessing: Guessing) -> Tensor:
    """∂L/∂guess, (config, row, output)."""
    return (guess - guessing.target) * (2 * guessing.row_weight / guessing.target.shape[1]).unsqueeze(1)

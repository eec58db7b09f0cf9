r"""Critics: small networks that predict several numbers per row (the attributes) from one (the prediction).

.. math:: L_c = \sum_i w_i \tfrac1k \|g_c(u_{ci}) - a_i\|^2

Shapes as in :class:`CriticFit`: u (config, row), a (row, output), w (row,).
"""

from __future__ import annotations

from torch import Tensor

from fairlevel.networks.fits import CriticFit, CriticLoss
from fairlevel.networks.network import Network
from fairlevel.networks.on_gpu import kernels_for_critics


def critic_gradient(network: Network, parameters: Tensor, fit: CriticFit) -> Tensor:
    """∂L/∂parameters, (config, parameter): what a training step of the critics follows."""
    kernels = kernels_for_critics(network.hidden, parameters, fit)
    if kernels is not None:
        return kernels.critic_gradient(network.shape, parameters, fit)
    output, activations = network.forward_all(parameters, fit.inputs.unsqueeze(-1))
    return network.pullback_all(parameters, activations, _output_gradient(output, fit))


def critic_loss(network: Network, parameters: Tensor, fit: CriticFit) -> CriticLoss:
    """The loss of the critics and its gradient in their inputs: what a penalty needs."""
    kernels = kernels_for_critics(network.hidden, parameters, fit)
    if kernels is not None:
        return kernels.critic_loss(network.shape, parameters, fit)
    output, activations = network.forward_all(parameters, fit.inputs.unsqueeze(-1))
    loss = (output - fit.target).square().mean(dim=-1) @ fit.row_weight
    gradient = network.input_pullback(parameters, activations, _output_gradient(output, fit)).squeeze(-1)
    return CriticLoss(loss, gradient)


def _output_gradient(output: Tensor, fit: CriticFit) -> Tensor:
    """∂L/∂output, (config, row, output)."""
    return (output - fit.target) * (2 * fit.row_weight / fit.target.shape[1]).unsqueeze(1)

"""ITD as printed in the paper: differentiate through unrolled inner steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fairlevel.exceptions import InvalidInput
from fairlevel.networks.backend import on_tensors
from fairlevel.networks.fits import Regression
from fairlevel.networks.network import Network
from fairlevel.networks.on_gpu import Kernels
from fairlevel.networks.penalties.trained_mean import SplitAttributes, TrainedMeanPenalty, spread
from fairlevel.penalties.protocol import PenaltyStep


@dataclass(frozen=True)
class ITD(TrainedMeanPenalty):
    r"""Iterative differentiation: M plain inner steps, then K steps whose effect on Var h is differentiated.

    .. math:: \tilde\phi^{(k+1)} = \tilde\phi^{(k)} - \eta_{in} \nabla_\phi \hat L_{in}(f, \tilde\phi^{(k)}), \qquad
              g = \partial_{f_{in}} \widehat{\operatorname{Var}}_{\mathrm{OUT}}\big(h_{\tilde\phi^{(K)}}(a)\big)

    The graph holds the n_in predictions and the inner network only; it never enters the predictor. The cost is linear
    in K. Parameters: ``steps`` (K), ``inner_steps`` (M), ``inner_learning_rate`` (η_in), ``mean``, ``loss``, ``rows``.
    """

    steps: int = 5

    name: ClassVar[str] = "itd"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.steps, int) or self.steps < 1:
            raise InvalidInput(
                f"steps={self.steps} was given; at least one unrolled step is needed, such as ITD(steps=5)."
            )

    @on_tensors
    def step(self, prediction: Tensor, prepared: SplitAttributes, state: Tensor | None) -> PenaltyStep:
        """Algorithm 2, mode ITD."""
        inner = prediction[:, prepared.fit_rows].detach()
        warm = self.descended(inner, prepared, state)
        network = self.mean.network(prepared.fit.shape[1])
        kernels = network.kernels(warm, prepared.fit, inner)
        if kernels is not None and self.loss.passes == 1:
            value, gradient_in = self._reversed(kernels, network, warm, inner, prepared)
        else:
            value, gradient_in = self._differentiated(warm, inner, prepared)
        gradient = torch.zeros_like(prediction)
        gradient[:, prepared.fit_rows] = gradient_in
        return PenaltyStep(value, gradient, warm)

    def _differentiated(self, warm: Tensor, inner: Tensor, prepared: SplitAttributes) -> tuple[Tensor, Tensor]:
        """Var h after the unrolled steps, (config,), and its gradient in the predictions, (config, fitting row)."""
        with torch.enable_grad():
            inner = inner.requires_grad_()
            parameters = self.unrolled(warm, inner, prepared, self.steps)
            value = spread(self.mean.predict(parameters, prepared.evaluate), prepared.evaluate_weight)
            (gradient_in,) = torch.autograd.grad(value.sum(), inner)
        return value.detach(), gradient_in

    def _reversed(
        self, kernels: Kernels, network: Network, warm: Tensor, inner: Tensor, prepared: SplitAttributes
    ) -> tuple[Tensor, Tensor]:
        r"""The same with the chain written out: back through φ ← φ − η∇L(f, φ), whose derivatives are

        .. math:: \lambda \leftarrow \lambda - \eta \nabla^2_\phi L\, \lambda, \qquad
                  \partial_{f_i} = 2 \eta\, w_i\, \partial_\lambda h_\phi(a_i) .
        """
        path, fit = [warm], Regression(prepared.fit, inner, prepared.fit_weight)
        for _ in range(self.steps):
            path.append(self.unrolled(path[-1], inner, prepared, 1))
        weight = prepared.evaluate_weight
        fitted, kept = network.forward(path[-1], prepared.evaluate)
        centred = fitted - (fitted * weight).sum(dim=-1, keepdim=True)
        adjoint = network.pullback(path[-1], kept, 2 * weight * centred)
        result, step = torch.zeros_like(inner), self.inner_learning_rate
        for parameters in reversed(path[:-1]):
            product, along = kernels.second(network.shape, parameters, adjoint, fit)
            result += 2 * step * prepared.fit_weight * along
            adjoint = adjoint - step * product
        return (centred.square() * weight).sum(dim=-1), result

"""The paper's conditional mean: a small tanh network trained on the current predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fairlevel.networks.descent import gradient_steps
from fairlevel.networks.fits import Regression
from fairlevel.networks.network import Network
from fairlevel.networks.on_gpu import needs_autograd
from fairlevel.networks.optimizers import Adam, GradientDescent, Moments
from fairlevel.penalties.inner_losses import InnerLoss, Squared


@dataclass(frozen=True)
class MLPMean:
    r"""h_φ, a 2×64 tanh network fitted by steps on the inner loss (Algorithm 1 of the paper: EstimateConditionalMean).

    .. math:: \phi \leftarrow \phi - \eta \nabla_\phi \tfrac1n \sum_i \rho\big(f_i - h_\phi(a_i)\big)

    Inside training (``FBO``, ``ITD``) the network is warm-started and each call takes a few gradient steps through
    :meth:`descend`. As a diagnostic, :meth:`fit` trains it from scratch; Adam is the default there, because as many
    steps of plain gradient descent miss a third of a quadratic disparity.
    """

    hidden: tuple[int, ...] = (64, 64)
    optimizer: Adam | GradientDescent = Adam(learning_rate=0.01, steps=300, final_fraction=1.0)

    name: ClassVar[str] = "mlp"
    kind: ClassVar[str] = "trained"

    def describe(self) -> str:
        """Hidden layers and training steps in words."""
        return f"hidden {self.hidden}, {self.optimizer.steps} steps"

    def network(self, attributes: int) -> Network:
        return Network(attributes, self.hidden)

    def init(self, attributes: int, configs: int, seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """The same fresh network for every configuration, (config, parameter)."""
        return self.network(attributes).init(seed, dtype).repeat(configs, 1)

    def predict(self, parameters: Tensor, sensitive: Tensor) -> Tensor:
        """h_φ(a): (config, parameter), (row, attribute) -> (config, row)."""
        return self.network(sensitive.shape[1]).predict(parameters, sensitive)

    def gradient(
        self, parameters: Tensor, sensitive: Tensor, prediction: Tensor, row_weight: Tensor, loss: InnerLoss
    ) -> Tensor:
        """∇_φ of the inner objective, (config, parameter); differentiable in the predictions."""
        network = self.network(sensitive.shape[1])
        fitted, activations = network.forward(parameters, sensitive)
        return network.pullback(parameters, activations, -loss.slope(prediction - fitted) * row_weight)

    def descend(
        self,
        parameters: Tensor,
        sensitive: Tensor,
        prediction: Tensor,
        row_weight: Tensor,
        learning_rate: Tensor,
        steps: int,
        loss: InnerLoss,
    ) -> Tensor:
        """``steps`` plain gradient steps from the given parameters; differentiable in the predictions.

        Shapes: sensitive (row, attribute), prediction (config, row), row_weight (row,) summing to 1, learning_rate
        (config,).
        """
        if isinstance(loss, Squared) and len(self.hidden) == 2 and not needs_autograd(parameters, prediction):
            fit = Regression(sensitive, prediction, row_weight)
            return gradient_steps(self.network(sensitive.shape[1]), parameters, fit, learning_rate, steps)
        rate = learning_rate.unsqueeze(1)
        for _ in range(steps):
            parameters = parameters - rate * self.gradient(parameters, sensitive, prediction, row_weight, loss)
        return parameters

    def fit(self, sensitive: Tensor, prediction: Tensor, row_weight: Tensor, seed: int) -> Tensor:
        """Train from scratch on squared loss with the optimiser of this object; (config, parameter). On strongly
        correlated attributes plain gradient descent would diverge and therefore takes smaller steps.
        """
        parameters = self.init(sensitive.shape[1], len(prediction), seed, prediction.dtype).to(prediction.device)
        spread = float(torch.linalg.matrix_norm((sensitive.T * row_weight) @ sensitive, ord=2))
        rate = parameters.new_full((len(prediction),), self.optimizer.stable_rate(spread))
        if isinstance(self.optimizer, GradientDescent):
            return self.descend(parameters, sensitive, prediction, row_weight, rate, self.optimizer.steps, Squared())
        state: Moments | None = self.optimizer.init(parameters)
        for step in range(self.optimizer.steps):
            gradient = self.gradient(parameters, sensitive, prediction, row_weight, Squared())
            parameters, state = self.optimizer.update(parameters, gradient, state, rate, step)
        return parameters

"""DPVar with the inner problem solved in closed form, on all rows and all labels: the default penalty."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import torch
from torch import Tensor
from torch.nn.functional import pad

from fairlevel.arrays import Array
from fairlevel.conditional_mean import LinearMean, RandomFeaturesMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics.choice import tuned_mean
from fairlevel.networks.inner_losses import InnerLoss, Squared
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS, Along, PenaltyStep, RowPlan, Rows, Settings
from fairlevel.penalties.smoothing import TensorSmoother
from fairlevel.penalties.toolkit import PenaltyDefaults, check_mean, distinct, setting

NEGLIGIBLE = 1e-2
"""Functions of A are left out when every ridge of the grid shrinks them to less than this share of the first penalised
one. They cost as much as the others, and P counts less than a hundredth of the variance of f along them."""

_COLD_START = 5  # times as many passes where there is no conditional mean to start from


class ClosedState(NamedTuple):
    """The current conditional mean, (config, row), the ridge of each configuration, (config,), and by how much it
    shrinks each function of the padded basis, (config, padded basis). ``coefficients`` are
    c = BᵀWf of the last predictions, (config, padded basis).
    """

    fitted: Tensor
    ridge: Tensor
    shrinkage: Tensor
    coefficients: Tensor


class Transformed(NamedTuple):
    """A function of the disparity P, (config,), and what the gradient of P has to be divided by, (config,), or None."""

    value: Tensor
    divisor: Tensor | None

    def step(self, gradient: Tensor, state: object) -> PenaltyStep:
        """The step whose gradient of P is ``gradient``, (config, row)."""
        return PenaltyStep(
            self.value, gradient if self.divisor is None else gradient / self.divisor.unsqueeze(-1), state
        )


@dataclass(frozen=True)
class ClosedFBO(PenaltyDefaults):
    r"""Functional bilevel optimisation with a linear smoother: h = S f, no inner loop, no stale h.

    .. math:: P_c = \tfrac1n f_c^\top C S f_c, \qquad
              \frac{\partial P_c}{\partial f_{ci}} = \tfrac2n \big(h_c(a_i) - \mu_c\big)

    This is Proposition 3.1 of the paper and the exact gradient of P. With another inner ``loss`` the conditional mean
    is found by warm-started passes and the gradient is (2/n)(h − μ) ρ''/E[ρ''|A], the closed-form adjoint of that loss.

    Parameters
    ----------
    mean : the linear conditional mean; ``mean.ridge=None`` is replaced by the estimators with the ridge that
        cross-validates best for y on A
    loss : what h minimises: ``Squared()``, ``Huber()``, ``Pinball()``
    """

    mean: LinearMean = RandomFeaturesMean()
    loss: InnerLoss = Squared()
    rows: RowPlan = ALL_TRAINING_ROWS

    name: ClassVar[str] = "fbo_closed"
    tunable: ClassVar[tuple[str, ...]] = ("ridge",)
    within_factors: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_mean(self.mean, "linear", "RandomFeaturesMean()")

    @property
    def ridge(self) -> float:
        """λ of the conditional mean; a small number when nothing was chosen."""
        return 1e-3 if self.mean.ridge is None else self.mean.ridge

    def transform(self, disparity: Tensor) -> Transformed:
        """The penalty as a function of P, (config,): P itself."""
        return Transformed(disparity, None)

    def tuned(self, attributes: Attributes, target: Array, seed: int) -> Self:
        """With the ridge that the conditional mean leaves open, chosen for the target."""
        return replace(self, mean=tuned_mean(self.mean, attributes, target, seed))

    def prepare(self, attributes: Attributes, rows: Rows, settings: Settings, seed: int) -> TensorSmoother:
        smallest = float(distinct(self, settings, "ridge").min())
        return TensorSmoother.of(self.mean.prepare(attributes, seed=seed).trimmed(smallest, NEGLIGIBLE))

    def init(self, prepared: TensorSmoother, configs: int, settings: Settings) -> ClosedState:
        weight = prepared.row_weight
        ridge = setting(self, settings, "ridge", weight, configs)
        shrinkage = prepared.shrinkage(ridge)
        shrinkage = pad(shrinkage, (0, prepared.products.count - shrinkage.shape[1]))
        return ClosedState(weight.new_zeros(configs, len(weight)), ridge, shrinkage, torch.zeros_like(shrinkage))

    def step(self, prediction: Tensor, prepared: TensorSmoother, state: ClosedState) -> PenaltyStep:
        if self.loss.passes == 1:
            return self._solved(prepared.products.coefficients(prediction), prepared, state)
        fitted, ridge = state.fitted, state.ridge
        for _ in range(self.loss.passes):
            fitted = prepared.apply(self.loss.response(prediction, fitted), ridge)
        centred = prepared.beyond_nuisance(fitted)
        relative_curvature = self.loss.relative_curvature(
            prediction - fitted, lambda values: prepared.apply(values, ridge)
        )
        gradient = 2 * prepared.row_weight * centred * relative_curvature
        value = self.loss.disparity(prediction, centred, prepared.row_weight)
        return self.transform(value).step(gradient, state._replace(fitted=fitted))

    def _solved(self, coefficients: Tensor, prepared: TensorSmoother, state: ClosedState) -> PenaltyStep:
        """Squared loss: P = Σ_j d_j c_j² with c = BᵀWf, and its gradient 2 W B (d ∘ c): a thin product."""
        shrunk = coefficients * state.shrinkage
        gradient = prepared.products.combined(2 * shrunk)
        value = (shrunk * coefficients).sum(dim=-1)
        return self.transform(value).step(gradient, state._replace(coefficients=coefficients))

    def along(self, direction: Tensor, value: Tensor, prepared: TensorSmoother, state: ClosedState) -> Along | None:
        """2 Σ_j d_j (BᵀWt)_j² along t, and BᵀWt."""
        if self.loss.passes > 1:
            return None
        products = prepared.products.coefficients(direction)
        return Along(2 * (products.square() * state.shrinkage).sum(dim=-1), products)

    def step_after(
        self, prediction: Tensor, move: Tensor, along: Along, prepared: TensorSmoother, state: ClosedState
    ) -> PenaltyStep:
        """c is linear in f: c + move · BᵀWt, without another pass over the rows."""
        return self._solved(state.coefficients + move.unsqueeze(-1) * along.products, prepared, state)

    def value(self, prediction: Tensor, prepared: TensorSmoother, state: ClosedState) -> Tensor:
        """From the covariance of the smoothed response with its leave-one-out mean: P is zero on average where the
        conditional mean is constant.
        """
        response = prediction
        if self.loss.passes > 1:
            fitted = prepared.apply(prediction, state.ridge)
            for _ in range(_COLD_START * (self.loss.passes - 1)):
                fitted = prepared.apply(self.loss.response(prediction, fitted), state.ridge)
            response = self.loss.response(prediction, fitted)
        return self.transform(prepared.leave_out_covariance(response, state.ridge)).value

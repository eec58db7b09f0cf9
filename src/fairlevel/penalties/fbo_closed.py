"""DPVar with the inner problem solved in closed form, on all rows and all labels: the default penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from torch import Tensor
from torch.nn.functional import pad

from fairlevel.conditional_mean import LinearMean, RandomFeaturesMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.inner_losses import InnerLoss, Squared
from fairlevel.conditional_mean.leave_one_out import leave_out_covariance
from fairlevel.conditional_mean.smoother import LinearSmoother
from fairlevel.penalties.protocol import (
    ALL_TRAINING_ROWS,
    PenaltyStep,
    RowPlan,
    Rows,
    Settings,
    check_mean,
    distinct,
    setting,
)

NEGLIGIBLE = 1e-2
"""Functions of A of which every ridge of the grid leaves less than this, next to the first penalised one, are left out:
they cost as much as the others, and P counts less than a hundredth of the variance of f along them."""

_COLD_START = 5  # times as many passes where there is no level to start from


class Level(NamedTuple):
    """The current conditional mean, (config, row), the ridge of each configuration, (config,), and by how much it
    shrinks each function of the padded basis, (config, padded basis), 0 for the constant.
    """

    level: Tensor
    ridge: Tensor
    shrinkage: Tensor


@dataclass(frozen=True)
class ClosedFBO:
    r"""Functional bilevel optimisation with a linear smoother: h = S f, no inner loop, no stale h.

    .. math:: P_c = \tfrac1n f_c^\top C S f_c, \qquad
              \frac{\partial P_c}{\partial f_{ci}} = \tfrac2n \big(h_c(a_i) - \mu_c\big)

    which is Proposition 3.1 of the paper and the exact gradient of P. With another inner ``loss`` the level is found by
    warm-started passes and the gradient is (2/n)(h − μ) ρ''/E[ρ''|A], the closed-form adjoint of that loss.

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
    company: ClassVar[int | None] = 8

    def __post_init__(self) -> None:
        check_mean(self.mean, LinearMean, "RandomFeaturesMean()")

    @property
    def quadratic(self) -> bool:
        return isinstance(self.loss, Squared)

    @property
    def ridge(self) -> float:
        """λ of the conditional mean; a small number when nothing was chosen."""
        return 1e-3 if self.mean.ridge is None else self.mean.ridge

    def curvature(self, weight: Tensor) -> Tensor:
        return 1 + weight

    def prepare(self, attributes: Attributes, rows: Rows, settings: Settings, seed: int) -> LinearSmoother:
        smallest = float(distinct(self, settings, "ridge").min())
        return self.mean.prepare(attributes, seed=seed).trimmed(smallest, NEGLIGIBLE)

    def init(self, prepared: LinearSmoother, configs: int, settings: Settings) -> Level:
        basis = prepared.aligned_basis
        ridge = setting(self, settings, "ridge", basis, configs)
        shrinkage = prepared.shrinkage(ridge)
        shrinkage = pad(shrinkage, (0, basis.shape[1] - shrinkage.shape[1]))
        shrinkage[:, 0] = 0  # the mean is no disparity
        return Level(basis.new_zeros(configs, len(basis)), ridge, shrinkage)

    def step(self, prediction: Tensor, prepared: LinearSmoother, state: Level) -> PenaltyStep:
        if self.loss.passes == 1:
            return self._solved(prediction, prepared, state)
        level, ridge, _ = state
        for _ in range(self.loss.passes):
            level = prepared.apply(self.loss.response(prediction, level), ridge)
        centred = level - (level * prepared.row_weight).sum(dim=-1, keepdim=True)
        following = self.loss.following(prediction - level, lambda values: prepared.apply(values, ridge))
        gradient = 2 * prepared.row_weight * centred * following
        value = self.loss.disparity(prediction, centred, prepared.row_weight)
        return PenaltyStep(value, gradient, state._replace(level=level))

    def _solved(self, prediction: Tensor, prepared: LinearSmoother, state: Level) -> PenaltyStep:
        """Squared loss: P = Σ_{j ≥ 1} d_j c_j² with c = BᵀWf, and its gradient 2 W B (d ∘ c): two thin products."""
        coefficients = prediction @ prepared.aligned_basis
        shrunk = coefficients * state.shrinkage
        gradient = (2 * shrunk) @ prepared.aligned_functions
        return PenaltyStep((shrunk * coefficients).sum(dim=-1), gradient, state)

    def value(self, prediction: Tensor, prepared: LinearSmoother, state: Level) -> Tensor:
        """Covariance of the smoothed response with its leave-one-out mean: zero on average when the level is
        constant.
        """
        level = prepared.apply(prediction, state.ridge)
        for _ in range(_COLD_START * (self.loss.passes - 1)):
            level = prepared.apply(self.loss.response(prediction, level), state.ridge)
        return leave_out_covariance(self.loss.response(prediction, level), prepared, state.ridge)

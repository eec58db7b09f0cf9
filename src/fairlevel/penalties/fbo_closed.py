"""DPVar with the inner problem solved in closed form, on all rows and all labels: the default penalty."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

from fairlevel.arrays import AnyArray, Array, device, namespace
from fairlevel.conditional_mean import LinearMean, RandomFeaturesMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics.choice import tuned_mean
from fairlevel.penalties.inner_losses import InnerLoss, Squared
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS, Along, PenaltyStep, RowPlan, Rows, Settings
from fairlevel.penalties.smoothing import PenaltySmoother
from fairlevel.penalties.toolkit import PenaltyDefaults, check_mean, distinct, setting

NEGLIGIBLE = 1e-2
"""Functions of A are left out when every ridge of the grid shrinks them to less than this share of the first penalised
one. They cost as much as the others, and P counts less than a hundredth of the variance of f along them."""

_COLD_START = 5  # times as many passes where there is no conditional mean to start from


class ClosedState(NamedTuple):
    """The current conditional mean, (config, row), the ridge of each configuration, (config,), and by how much it
    shrinks each function, (config, function). ``coefficients`` are c = BᵀWf of the last predictions, (config,
    function).
    """

    fitted: AnyArray
    ridge: AnyArray
    shrinkage: AnyArray
    coefficients: AnyArray


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

    def transform(self, disparity: AnyArray) -> tuple[AnyArray, AnyArray]:
        """The penalty as a function of P, and its slope, each (config,): P itself, and 1."""
        return disparity, namespace(disparity).ones_like(disparity)

    def tuned(self, attributes: Attributes, target: Array, seed: int) -> Self:
        """With the ridge that the conditional mean leaves open, chosen for the target."""
        return replace(self, mean=tuned_mean(self.mean, attributes, target, seed))

    def prepare(self, attributes: Attributes, rows: Rows, settings: Settings, seed: int) -> PenaltySmoother:
        smallest = float(distinct(self, settings, "ridge").min())
        return PenaltySmoother.of(self.mean.prepare(attributes, seed=seed).trimmed(smallest, NEGLIGIBLE))

    def init(self, prepared: PenaltySmoother, configs: int, settings: Settings) -> ClosedState:
        ridge = setting(self, settings, "ridge", prepared.row_weight, configs)
        shrinkage = prepared.shrinkage(ridge)
        xp = namespace(shrinkage)
        shape = (configs, prepared.row_weight.shape[0])
        fitted = xp.zeros(shape, dtype=shrinkage.dtype, device=device(shrinkage))
        return ClosedState(fitted, ridge, shrinkage, xp.zeros_like(shrinkage))

    def step(self, prediction: AnyArray, prepared: PenaltySmoother, state: ClosedState) -> PenaltyStep:
        if self.loss.passes == 1:
            return self._solved(prepared.coefficients(prediction), prepared, state)
        fitted, ridge = state.fitted, state.ridge
        for _ in range(self.loss.passes):
            fitted = prepared.apply(self.loss.response(prediction, fitted), ridge)
        centred = prepared.beyond_nuisance(fitted)
        relative_curvature = self.loss.relative_curvature(
            prediction - fitted, lambda values: prepared.apply(values, ridge)
        )
        gradient = 2 * prepared.row_weight * centred * relative_curvature
        value, slope = self.transform(self.loss.disparity(prediction, centred, prepared.row_weight))
        return PenaltyStep(value, slope[:, None] * gradient, state._replace(fitted=fitted))

    def _solved(self, coefficients: AnyArray, prepared: PenaltySmoother, state: ClosedState) -> PenaltyStep:
        """Squared loss: P = Σ_j d_j c_j² with c = BᵀWf, and its gradient 2 W B (d ∘ c): a thin product."""
        shrunk = coefficients * state.shrinkage
        value, slope = self.transform((shrunk * coefficients).sum(-1))
        gradient = prepared.combined(2 * slope[:, None] * shrunk)
        return PenaltyStep(value, gradient, state._replace(coefficients=coefficients))

    def along(
        self, direction: AnyArray, value: AnyArray, prepared: PenaltySmoother, state: ClosedState
    ) -> Along | None:
        """2 Σ_j d_j (BᵀWt)_j² along t, and BᵀWt."""
        if self.loss.passes > 1:
            return None
        products = prepared.coefficients(direction)
        return Along(2 * (products**2 * state.shrinkage).sum(-1), products)

    def step_after(
        self, prediction: AnyArray, move: AnyArray, along: Along, prepared: PenaltySmoother, state: ClosedState
    ) -> PenaltyStep:
        """c is linear in f: c + move · BᵀWt, without another pass over the rows."""
        return self._solved(state.coefficients + move[:, None] * along.products, prepared, state)

    def value(self, prediction: AnyArray, prepared: PenaltySmoother, state: ClosedState) -> AnyArray:
        """From the covariance of the smoothed response with its leave-one-out mean: P is zero on average where the
        conditional mean is constant.
        """
        response = prediction
        if self.loss.passes > 1:
            fitted = prepared.apply(prediction, state.ridge)
            for _ in range(_COLD_START * (self.loss.passes - 1)):
                fitted = prepared.apply(self.loss.response(prediction, fitted), state.ridge)
            response = self.loss.response(prediction, fitted)
        value, _ = self.transform(prepared.leave_out_covariance(response, state.ridge))
        return value

"""DPVar with the inner problem solved in closed form, on all rows and all labels: the default penalty; and its root."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from fairlevel.arrays import AnyArray, Array, namespace
from fairlevel.conditional_mean import LinearMean, RandomFeaturesMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics.choice import tuned_mean
from fairlevel.penalties.inner_losses import InnerLoss, Squared
from fairlevel.penalties.protocol import Penalty, PenaltyStep
from fairlevel.penalties.smoothing import PenaltySmoother
from fairlevel.penalties.toolkit import SMALLEST_SD, check_mean

NEGLIGIBLE = 1e-2
"""Functions of A are left out when the ridge shrinks them to less than this share of the first penalised one. They cost
as much as the others, and P counts less than a hundredth of the variance of f along them."""

_COLD_START = 5  # times as many passes where there is no conditional mean to start from


@dataclass(frozen=True)
class ClosedFBO(Penalty):
    r"""Functional bilevel optimisation with a linear smoother: h = S f, no inner loop, no stale h.

    .. math:: P_c = \tfrac1n f_c^\top C S f_c, \qquad
              \frac{\partial P_c}{\partial f_{ci}} = \tfrac2n \big(h_c(a_i) - \mu_c\big)

    This is Proposition 3.1 of the paper and the exact gradient of P. With another inner ``loss`` the conditional mean
    is found by passes that start from that of the last step, the state, and the gradient is
    (2/n)(h − μ) ρ''/E[ρ''|A], the closed-form adjoint of that loss.

    Parameters
    ----------
    mean : the linear conditional mean; ``mean.ridge=None`` is replaced by the estimators with the ridge that
        cross-validates best for y on A
    loss : what h minimises: ``Squared()``, ``Huber()``, ``Pinball()``
    """

    mean: LinearMean = RandomFeaturesMean()
    loss: InnerLoss = Squared()

    name: ClassVar[str] = "fbo_closed"

    def __post_init__(self) -> None:
        check_mean(self.mean, "linear", "RandomFeaturesMean()")

    @property
    def ridge(self) -> float:
        """λ of the conditional mean; a small number when nothing was chosen."""
        return 1e-3 if self.mean.ridge is None else self.mean.ridge

    def tuned(self, attributes: Attributes, target: Array, seed: int) -> Self:
        """With the ridge that the conditional mean leaves open, chosen for the target."""
        return replace(self, mean=tuned_mean(self.mean, attributes, target, seed))

    def prepare(self, attributes: Attributes, seed: int) -> PenaltySmoother:
        smoother = self.mean.prepare(attributes, seed=seed).trimmed(self.ridge, NEGLIGIBLE)
        return PenaltySmoother.of(smoother, self.ridge)

    def step(self, prediction: AnyArray, prepared: PenaltySmoother, state: AnyArray | None) -> PenaltyStep:
        """For squared loss P = Σ_j d_j c_j² with c = BᵀWf, and its gradient 2 W B (d ∘ c): two thin products."""
        if self.loss.passes == 1:
            coefficients = prepared.coefficients(prediction)
            shrunk = coefficients * prepared.shrinkage
            value = (shrunk * coefficients).sum(-1)
            return PenaltyStep(value, 2 * (shrunk @ prepared.functions.T) * prepared.row_weight)
        fitted = namespace(prediction).zeros_like(prediction) if state is None else state
        for _ in range(self.loss.passes):
            fitted = prepared.apply(self.loss.response(prediction, fitted))
        centred = prepared.beyond_nuisance(fitted)
        relative_curvature = self.loss.relative_curvature(prediction - fitted, prepared.apply)
        gradient = 2 * prepared.row_weight * centred * relative_curvature
        return PenaltyStep(centred**2 @ prepared.row_weight, gradient, fitted)

    def value(self, prediction: AnyArray, prepared: PenaltySmoother, state: AnyArray | None) -> AnyArray:
        """From the covariance of the smoothed response with its leave-one-out mean: P is zero on average where the
        conditional mean is constant.
        """
        response = prediction
        if self.loss.passes > 1:
            fitted = prepared.apply(prediction)
            for _ in range(_COLD_START * (self.loss.passes - 1)):
                fitted = prepared.apply(self.loss.response(prediction, fitted))
            response = self.loss.response(prediction, fitted)
        return prepared.leave_out_covariance(response)

    def along(self, direction: AnyArray, last: PenaltyStep, prepared: PenaltySmoother) -> AnyArray | None:
        """2 Σ_j d_j (BᵀWt)_j² along t, with squared loss."""
        return 2 * prepared.coefficients(direction) ** 2 @ prepared.shrinkage if self.loss.passes == 1 else None


@dataclass(frozen=True)
class RootFBO(ClosedFBO):
    r"""The square root of the closed-form penalty: its gradient does not vanish as DPVar shrinks.

    .. math:: Q_c = \sqrt{P_c + s^2} - s, \qquad
              \frac{\partial Q_c}{\partial f_{ci}} = \frac{1}{2\sqrt{P_c + s^2}}\frac{\partial P_c}{\partial f_{ci}}

    with P the penalty of :class:`ClosedFBO` and s = 0.05, below which predictions count as constant.
    """

    name: ClassVar[str] = "fbo_root"

    def step(self, prediction: AnyArray, prepared: PenaltySmoother, state: AnyArray | None) -> PenaltyStep:
        disparity = super().step(prediction, prepared, state)
        root = _root(disparity.value)
        gradient = (0.5 / root)[:, None] * disparity.gradient
        return PenaltyStep(root - SMALLEST_SD, gradient, disparity.state, 0.5 / SMALLEST_SD)

    def value(self, prediction: AnyArray, prepared: PenaltySmoother, state: AnyArray | None) -> AnyArray:
        return _root(super().value(prediction, prepared, state)) - SMALLEST_SD

    def along(self, direction: AnyArray, last: PenaltyStep, prepared: PenaltySmoother) -> AnyArray | None:
        """The curvature of P, divided like the gradient: the root is concave, so that this parabola lies above it."""
        of_disparity = super().along(direction, last, prepared)
        return None if of_disparity is None else of_disparity / (2 * (last.value + SMALLEST_SD))


def _root(disparity: AnyArray) -> AnyArray:
    """√(P + s²), (config,); estimates of P below 0 count as 0."""
    return (namespace(disparity).clip(disparity, min=0.0) + SMALLEST_SD**2) ** 0.5

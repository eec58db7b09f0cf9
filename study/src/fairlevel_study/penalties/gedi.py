"""Generalised disparate impact: how much f moves with the best polynomial of A."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairlevel.arrays import AnyArray, device, namespace
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.smoother import Features, factor
from fairlevel.penalties.protocol import ALL_TRAINING_ROWS, Along, PenaltyStep, RowPlan, Rows, Settings
from fairlevel.penalties.smoothing import PenaltySmoother
from fairlevel.penalties.toolkit import PenaltyDefaults
from fairlevel_study.penalties.hgr_kernel import check_degrees, products


@dataclass(frozen=True)
class GeDI(PenaltyDefaults):
    r"""The square of generalised disparate impact with a polynomial kernel (Giuliani, Misino & Lombardi, ICML 2023).

    .. math:: \mathrm{GeDI} = \max_\beta \frac{\operatorname{cov}(G\beta, f)}{\operatorname{Var}(G\beta)}
              \;\text{with}\; \operatorname{Var}(G\beta) = 1, \qquad
              P = \mathrm{GeDI}^2 = \tfrac1n f^\top S f, \qquad
              \frac{\partial P}{\partial f} = \tfrac2n S f

    with G all products of polynomials of A up to ``degree``, centred, and S the projection on them. The largest
    covariance with a function of unit variance is the spread of the regression: P is DPVar with a polynomial
    conditional mean, and ``hgr_kernel`` with degree 1 times Var f. The attributes have unit variance here; the
    ratio of the authors' later software, HGR · sd(f) / sd(a), is then the same number. Their first paper normalises β
    by the sum of its absolute values instead, which depends on the basis.

    A move of the average prediction beyond the degree is invisible; where the shape is unknown use
    :class:`ClosedFBO`, which is this penalty with random features in place of polynomials. The degree is lowered until
    A has at most 200 functions.

    Parameters
    ----------
    degree : total degree of the polynomials of A
    """

    degree: int = 3
    rows: RowPlan = ALL_TRAINING_ROWS

    name: ClassVar[str] = "gedi"

    def __post_init__(self) -> None:
        check_degrees(degree=self.degree)

    def prepare(self, attributes: Attributes, rows: Rows, settings: Settings, seed: int) -> PenaltySmoother:
        def polynomials(rows: Attributes) -> Features:
            return Features(products(rows.values, self.degree), np.empty((len(rows), 0)))

        return PenaltySmoother.of(factor(polynomials, attributes))

    def init(self, prepared: PenaltySmoother, configs: int, settings: Settings) -> AnyArray:
        """The coefficients c = BᵀWf of the last predictions, (config, function)."""
        functions = prepared.functions
        shape = (configs, functions.shape[1])
        return namespace(functions).zeros(shape, dtype=functions.dtype, device=device(functions))

    def step(self, prediction: AnyArray, prepared: PenaltySmoother, state: AnyArray) -> PenaltyStep:
        return self._solved(prepared.coefficients(prediction), prepared)

    def _solved(self, coefficients: AnyArray, prepared: PenaltySmoother) -> PenaltyStep:
        """P = Σ_j c_j², and its gradient 2 W B c."""
        value = (coefficients**2).sum(-1)
        return PenaltyStep(value, prepared.combined(2 * coefficients), coefficients)

    def along(self, direction: AnyArray, value: AnyArray, prepared: PenaltySmoother, state: AnyArray) -> Along:
        """P is a quadratic function: 2 Σ_j (BᵀWt)_j², and BᵀWt."""
        products_ = prepared.coefficients(direction)
        return Along(2 * (products_**2).sum(-1), products_)

    def step_after(
        self, prediction: AnyArray, move: AnyArray, along: Along, prepared: PenaltySmoother, state: AnyArray
    ) -> PenaltyStep:
        """c is linear in f: c + move · BᵀWt."""
        return self._solved(state + move[:, None] * along.products, prepared)

    def value(self, prediction: AnyArray, prepared: PenaltySmoother, state: AnyArray) -> AnyArray:
        """With the leave-one-out regression in place of the fitted one: zero on average where A says nothing."""
        return prepared.leave_out_covariance(prediction, namespace(prediction).zeros_like(prediction[:, 0]))

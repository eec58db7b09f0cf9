"""Generalised disparate impact: how much f moves with the best polynomial of A."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairlevel.arrays import AnyArray
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.smoother import Features, factor
from fairlevel.penalties.protocol import Penalty, PenaltyStep
from fairlevel.penalties.smoothing import PenaltySmoother
from fairlevel_study.penalties.hgr_kernel import check_degrees, products


@dataclass(frozen=True)
class GeDI(Penalty):
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

    name: ClassVar[str] = "gedi"

    def __post_init__(self) -> None:
        check_degrees(degree=self.degree)

    def prepare(self, attributes: Attributes, seed: int) -> PenaltySmoother:
        def polynomials(rows: Attributes) -> Features:
            return Features(products(rows.values, self.degree), np.empty((len(rows), 0)))

        return PenaltySmoother.of(factor(polynomials, attributes), ridge=0.0)

    def step(self, prediction: AnyArray, prepared: PenaltySmoother, state: None) -> PenaltyStep:
        """P = Σ_j c_j² with c = BᵀWf, and its gradient 2 W B c."""
        coefficients = prepared.coefficients(prediction)
        gradient = 2 * (coefficients @ prepared.functions.T) * prepared.row_weight
        return PenaltyStep((coefficients**2).sum(-1), gradient)

    def along(self, direction: AnyArray, last: PenaltyStep, prepared: PenaltySmoother) -> AnyArray:
        """P is a quadratic function: 2 Σ_j (BᵀWt)_j²."""
        return 2 * (prepared.coefficients(direction) ** 2).sum(-1)

    def value(self, prediction: AnyArray, prepared: PenaltySmoother, state: None) -> AnyArray:
        """With the leave-one-out regression in place of the fitted one: zero on average where A says nothing."""
        return prepared.leave_out_covariance(prediction)

"""Generalised disparate impact: how much f moves with the best polynomial of A."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from fairlevel.arrays import Array
from fairlevel.conditional_mean import Features, LinearMean
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.conditional_mean.protocol import FeatureMap
from fairlevel.penalties import ClosedFBO
from fairlevel.penalties.inner_losses import InnerLoss, Squared
from fairlevel_study.penalties.hgr_kernel import check_degrees, products


@dataclass(frozen=True)
class PolynomialMean(LinearMean):
    """Least squares on all products of polynomials of A up to ``degree``."""

    ridge: float | None = 1.0  # penalises nothing: no function is among those it shrinks
    degree: int = 3

    name: ClassVar[str] = "polynomials"
    joined_by_learnt: ClassVar[bool] = False

    def feature_map(self, sensitive: Array, row_weight: Array, seed: int) -> FeatureMap:
        return lambda rows: Features(products(rows, self.degree), np.empty((len(rows), 0)))


@dataclass(frozen=True)
class GeDI(ClosedFBO):
    r"""The square of generalised disparate impact with a polynomial kernel (Giuliani, Misino & Lombardi, ICML 2023).

    .. math:: \mathrm{GeDI} = \max_\beta \frac{\operatorname{cov}(G\beta, f)}{\operatorname{Var}(G\beta)}
              \;\text{with}\; \operatorname{Var}(G\beta) = 1, \qquad
              P = \mathrm{GeDI}^2 = \tfrac1n f^\top S f

    with G all products of polynomials of A up to ``degree``, centred, and S the projection on them: P is DPVar with a
    polynomial conditional mean, and ``hgr_kernel`` with degree 1 times Var f. The attributes have unit variance here;
    the ratio of the authors' later software, HGR · sd(f) / sd(a), is then the same number. Their first paper normalises
    β by the sum of its absolute values instead, which depends on the basis.

    A move of the average prediction beyond the degree is invisible. The degree is lowered until A has at most 200
    functions.
    """

    degree: int = 3  # in all, of the polynomials of A
    mean: LinearMean = field(init=False, repr=False)
    loss: InnerLoss = field(default=Squared(), init=False, repr=False)

    name: ClassVar[str] = "gedi"

    def __post_init__(self) -> None:
        check_degrees(degree=self.degree)
        object.__setattr__(self, "mean", PolynomialMean(degree=self.degree))

    def tuned(self, attributes: Attributes, target: Array, seed: int) -> Self:
        return self

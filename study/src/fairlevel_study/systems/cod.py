"""CoD-constrained regression: A may explain at most a share ε of what the prediction varies by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.optimize import brentq

from fairlevel.arrays import Array
from fairlevel.candidates import TrainingSetup
from fairlevel.exceptions import InvalidInput
from fairlevel.predictors import RandomFeatures
from fairlevel_study.systems.protocol import Data, FittedFunctions, System


class EigenMoments(NamedTuple):
    """A second moment V and the covariance with y, in the eigenvectors of V: v, c (direction,), vectors (column,
    direction).
    """

    v: Array
    c: Array
    vectors: Array

    @classmethod
    def of(cls, columns: Array, y: Array) -> EigenMoments:
        v, vectors = np.linalg.eigh(columns.T @ columns / len(y))
        return cls(v.clip(min=0), vectors.T @ (columns.T @ y) / len(y), vectors)

    def solution(self, stretch: float, ridge: float) -> Array:
        """Coefficients in the eigenvectors where V counts ``stretch`` times; directions without variance get none."""
        curvature = stretch * self.v + ridge
        return np.divide(self.c, curvature, out=np.zeros_like(self.c), where=curvature > 1e-12)


def solve(of_a: EigenMoments, of_u: EigenMoments, share: float, ridge: float) -> tuple[Array, Array]:
    r"""The minimum of E(y − sᵀα − uᵀβ)² + λ(|α|² + |β|²) with (1 − ε) αᵀV_sα ≤ ε βᵀV_uβ, in eigenvectors.

    With ν ≥ 0 the multiplier, α = c / (v (1 + ν(1 − ε)) + λ) and β = c / (v (1 − νε) + λ): the constraint's slack falls
    in ν, so that one root gives the global optimum (S-lemma).
    """

    def at(nu: float) -> tuple[Array, Array]:
        return of_a.solution(1 + nu * (1 - share), ridge), of_u.solution(1 - nu * share, ridge)

    def slack(nu: float) -> float:
        alpha, beta = at(nu)
        return float((1 - share) * of_a.v @ alpha**2 - share * of_u.v @ beta**2)

    if slack(0.0) <= 0:
        return at(0.0)
    if share == 0:
        return np.zeros_like(of_a.c), at(0.0)[1]
    largest = (1 + ridge / of_u.v.max()) / share * (1 - 1e-9) if of_u.v.max() > 0 else 0.0
    if slack(largest) >= 0:  # nothing but A varies
        return np.zeros_like(of_a.c), np.zeros_like(of_u.c)
    return at(brentq(slack, 0.0, largest, xtol=1e-14, rtol=1e-14))


@dataclass(frozen=True)
class CoD(System):
    """Regression on A and on what A does not explain of X (Komiyama et al., ICML 2018). It needs A to predict.

    A strength is ε, the largest coefficient of determination of the prediction on A: 0 forbids every trace of A, 1 is
    plain regression. ``features`` random Fourier features of X, and half as many of A, stand for a kernel; 0 is linear.
    """

    features: int = 0
    ridge: float = 1e-2

    name: ClassVar[str] = "cod"
    uses_attributes: ClassVar[bool] = True

    def fit(self, data: Data, strengths: Sequence[float], setup: TrainingSetup) -> FittedFunctions:
        if not all(0 <= share <= 1 for share in strengths):
            raise InvalidInput(f"strengths={list(strengths)} was given; each must be between 0 and 1.")
        of_x, of_a = self._map(data.x, self.features, setup.seed), self._map(data.a, self.features // 2, setup.seed)
        x, s = of_x(data.x), of_a(data.a)
        onto = np.linalg.lstsq(s, x, rcond=None)[0]
        a_part, u_part = EigenMoments.of(s, data.y), EigenMoments.of(x - s @ onto, data.y)

        def predict(on_s: Array, on_x: Array, x: Array, a: Array) -> Array:
            result: Array = data.y.mean() + of_x(x) @ on_x + of_a(a) @ (on_s - onto @ on_x)
            return result

        solutions = (solve(a_part, u_part, share, self.ridge) for share in strengths)
        functions = (partial(predict, a_part.vectors @ alpha, u_part.vectors @ beta) for alpha, beta in solutions)
        return FittedFunctions(tuple(functions), data.a.shape[1])

    @staticmethod
    def _map(rows: Array, features: int, seed: int) -> Callable[[Array], Array]:
        """Centred columns, or centred random features of them."""
        if features:
            return RandomFeatures(features, ridge=1e-3).prepare(rows, seed, "cpu").input_map
        mean = rows.mean(axis=0)
        return lambda values: values - mean

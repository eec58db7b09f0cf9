r"""Linear models, of the features or of random waves of them: solved, not descended.

With z a fixed map of x, f = b + θᵀz minimises loss + weight · penalty + λ |θ|². Conjugate gradients with the exact step
along each direction end after as many steps as the penalty has directions, where loss and penalty are quadratic: few,
because the diagonal of the loss's second derivative is divided out. The ridge λ is chosen by leave-one-out, from the
loss around the constant, and so anew on the rows of every fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fairlevel.arrays import AnyArray, Array, Flags, NumPyBackend
from fairlevel.data.scaling import Scaler
from fairlevel.members.input_map import InputMap
from fairlevel.members.layout import Layout
from fairlevel.members.networks import NetworkMembers
from fairlevel.predictors.protocol import Configurations, Curvature, Learner, LearnerFactory, Predictor, Tiling
from fairlevel.threads import workers

STEPS = 60
LEAST_RIDGE = 1e-6  # times the mean second moment of z
FURTHER_RIDGES = 10.0 ** np.arange(8)
"""Multiples of a ridge that rows which are left out may ask for."""
_TILES = {4000: 8, 20_000: 4}  # {at most so many rows: models per tile}


class LinearPredictor(Predictor):
    """What linear predictors have in common."""

    linear_head: ClassVar[bool] = True
    fixed_features: ClassVar[bool] = True


@dataclass(frozen=True)
class Linear(LinearPredictor):
    r"""f = b + wᵀx, with a ridge that is chosen by leave-one-out. Directions whose variance is below ``ridge`` times
    the largest are shrunk more: without it, as many columns as rows are fitted to the noise.
    """

    ridge: float = 0.1

    name: ClassVar[str] = "linear"

    def prepare(self, x: Array, seed: int, device: str, scaler: Scaler | None = None) -> LinearFactory:
        whitened = InputMap.standardising(scaler).whitened(x, ridge=self.ridge)
        assert whitened.mixing is not None
        return LinearFactory(replace(whitened, mixing=whitened.mixing * (1 + self.ridge) ** 0.5))


@dataclass(frozen=True)
class RandomFeatures(LinearPredictor):
    r"""f = b + Σ_d θ_d √2 cos(w_dᵀx + b_d), w_d ~ N(0, σ⁻² I): a kernel machine in feature space.

    ``bandwidth`` multiplies σ, the root mean squared distance between rows of standardised features. Directions whose
    variance is below ``ridge`` times the largest are shrunk more: with 1, all but the largest, as in kernel ridge
    regression.
    """

    features: int = 300
    bandwidth: float = 1.0
    ridge: float = 1.0

    name: ClassVar[str] = "random_features"

    def prepare(self, x: Array, seed: int, device: str, scaler: Scaler | None = None) -> LinearFactory:
        standard, random = InputMap.standardising(scaler), np.random.default_rng(seed)
        spread = max(float(np.sqrt(2 * standard(x).astype(np.float64).var(axis=0).sum())), 1e-12)
        frequencies = random.standard_normal((x.shape[1], self.features)) / (self.bandwidth * spread)
        phases = random.uniform(0, 2 * np.pi, self.features)
        waves = replace(standard, frequencies=frequencies, phases=phases)
        return LinearFactory(waves.whitened(x, ridge=self.ridge))


@dataclass(frozen=True)
class LinearFactory(LearnerFactory):
    """The map of the features, fitted on the training rows."""

    input_map: InputMap
    backend: NumPyBackend = NumPyBackend()

    patience: ClassVar[int] = 2

    def steps(self, optimizer: Any) -> int:
        return STEPS

    def inputs(self, x: Array) -> AnyArray:
        return self.input_map(np.asarray(x, dtype=np.float64)).astype(np.float32)

    def tiling(self, rows: int, configs: int) -> Tiling:
        return Tiling(next((size for most, size in _TILES.items() if rows <= most), 1), workers())

    def learner(self, configurations: Configurations, optimizer: Any) -> LinearLearner:
        return LinearLearner(self.input_map, len(configurations))


class LinearLearner(Learner):
    """Linear models in training. Shapes: inputs z (row, input), coefficients (config, 1 + input), the first being that
    of the constant.
    """

    def __init__(self, input_map: InputMap, configs: int) -> None:
        assert input_map.mixing is not None
        self._input_map = input_map
        self._coefficients = np.zeros((configs, 1 + input_map.mixing.shape[1]))
        self._snapshot = self._coefficients.copy()
        self._scores: AnyArray = None
        self._inputs: AnyArray = None
        self._ridge: Array = np.empty(0)
        self._bend: AnyArray = None
        self._scaling: Array = np.empty(0)
        self._direction = self._downhill = np.zeros_like(self._coefficients)
        self._gradient = np.ones_like(self._coefficients)

    def forward(self, inputs: AnyArray) -> AnyArray:
        if self._inputs is not inputs:
            self._inputs, self._scores = inputs, self.predict(inputs)
        return self._scores

    def predict(self, inputs: AnyArray) -> AnyArray:
        return _times(self._coefficients, inputs)

    def follow(self, gradient: AnyArray, curvature: Curvature) -> None:
        inputs, bend = self._inputs, curvature.of_rows()
        if not len(self._ridge):
            self._ridge = _ridge(inputs, gradient[0], bend[0])
        if self._bend is not bend:  # a quadratic loss gives the same array again
            self._bend = bend
            diagonal = np.hstack([bend.sum(axis=1, keepdims=True), bend @ inputs**2])
            self._scaling = 1 / np.maximum(diagonal + self._ridge, 1e-12)
        total = gradient.sum(axis=1, keepdims=True)
        slope = np.hstack([total, gradient @ inputs]) + self._ridge * self._coefficients
        downhill = -self._scaling * slope
        before, turned = _dot(self._gradient, self._downhill), _dot(slope - self._gradient, downhill)
        share = np.where(before < 0, np.maximum(turned / np.minimum(before, -1e-300), 0), 0)  # Polak–Ribière
        direction = downhill + share[:, None] * self._direction
        uphill = _dot(slope, direction) >= 0
        direction[uphill] = downhill[uphill]
        self._direction, self._downhill, self._gradient = direction, downhill, slope
        moved, shrunk = _times(direction, inputs), self._ridge * direction
        of_ridge = (_dot(shrunk, values).astype(np.float32) for values in (self._coefficients, direction))
        steps = curvature.step_along(moved, 1.0, *of_ridge)[:, None]
        self._coefficients = self._coefficients + steps * direction
        self._scores = self._scores + steps * moved

    def snapshot(self, which: Flags) -> None:
        self._snapshot = np.where(which[:, None], self._coefficients, self._snapshot)

    def restore(self) -> None:
        self._coefficients = self._snapshot.copy()
        self._inputs = None

    def model(self) -> NetworkMembers:
        layout = Layout(self._coefficients.shape[1] - 1, ())
        (layer,) = layout.layers
        parameters = np.zeros((len(self._coefficients), layout.size))
        parameters[:, layer.weight], parameters[:, layer.bias] = self._coefficients[:, 1:], self._coefficients[:, :1]
        return NetworkMembers(layout, self._input_map, parameters)


def _times(coefficients: Array, inputs: AnyArray) -> AnyArray:
    """b + θᵀz: (config, 1 + input), (row, input) -> (config, row)."""
    single = coefficients.astype(np.float32)
    return single[:, 1:] @ inputs.T + single[:, :1]


def _dot(first: Array, second: Array) -> Array:
    """Inner products by configuration: (config, number) twice -> (config,)."""
    return (first * second).sum(axis=1)  # type: ignore[no-any-return]


def _ridge(inputs: AnyArray, gradient: AnyArray, bend: AnyArray) -> Array:
    """2 λ times what λ is a multiple of, for each coefficient, 0 for the constant, (1 + input,): from the loss around
    the constant, whose second derivatives (row,) weight the rows, and whose Newton step (row,) is the target.
    """
    values, weight = inputs.astype(np.float64), bend.astype(np.float64)
    known = weight > 0
    target = np.divide(-gradient, weight, out=np.zeros(len(weight)), where=known)
    total = weight.sum()
    chosen = leave_one_out_ridge(values[known], target[known], weight[known] / total, LEAST_RIDGE)
    centred = values[known] - weight[known] @ values[known] / total
    scale = float((weight[known] @ centred**2 / total).mean()) if values.shape[1] else 0.0
    return np.append(0.0, np.full(values.shape[1], chosen * scale * total))


def leave_one_out_ridge(features: Array, target: Array, row_weight: Array, least: float) -> float:
    """The ridge, from ``least`` on, at which a linear model errs least on rows that are left out one by one; as a
    multiple of the mean second moment of the features. Features may not know the target. Shapes: (row, feature),
    (row,), (row,) with sum 1.
    """
    centred, root = features - row_weight @ features, np.sqrt(row_weight)
    moments, directions = np.linalg.eigh((root[:, None] * centred).T @ (root[:, None] * centred))
    moments = moments.clip(0)
    scale = max(float(moments.mean()) if len(moments) else 0.0, 1e-300)
    scores, away = centred @ directions, target - row_weight @ target
    products, squares = scores.T @ (row_weight * away), scores**2
    ridges = least * FURTHER_RIDGES
    inverse = 1 / (moments[:, None] + ridges * scale)  # (direction, ridge)
    leverage = row_weight[:, None] * (1 + squares @ inverse)
    left_out = (away[:, None] - scores @ (inverse * products[:, None])) / np.maximum(1 - leverage, 1e-12)
    return float(ridges[(row_weight @ left_out**2).argmin()])

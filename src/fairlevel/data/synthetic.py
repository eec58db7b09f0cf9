r"""The paper's synthetic design, where the true DPVar of any predictor can be computed.

.. math:: S \sim U[-1,1],\; \eta \sim N(0, 0.3^2 I),\; A = (S, \eta),\; Z \sim N(0, I_3),\; X_A = g_A(A),\; X_Z = g_Z(Z)
.. math:: X = c_A X_A + c_Z X_Z + X_A \odot X_Z + \varepsilon_X, \qquad
          Y = \mathrm{base}(X) + \delta (S + S^3/2) + \beta_{int} \langle X_A, X_Z \rangle + \varepsilon_Y
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from fairlevel.arrays import Array
from fairlevel.exceptions import InvalidInput


@dataclass(frozen=True)
class SyntheticRows:
    """Shapes: x (row, feature), a (row, attribute), y (row,)."""

    x: Array
    a: Array
    y: Array

    def to_frame(self) -> pd.DataFrame:
        columns = {f"a{k + 1}": column for k, column in enumerate(self.a.T)}
        columns |= {f"x{j + 1}": column for j, column in enumerate(self.x.T)}
        return pd.DataFrame(columns | {"y": self.y})


@dataclass(frozen=True)
class TrueDPVar:
    """A simulated DPVar and its standard error; arrays (config,) for several models."""

    value: float | Array
    standard_error: float | Array


@dataclass(frozen=True)
class TwoLayer:
    """A fixed random network W₂ tanh(W₁ v + b₁) + b₂."""

    first: Array
    first_bias: Array
    second: Array
    second_bias: Array

    def __call__(self, values: Array) -> Array:
        result: Array = np.tanh(values @ self.first + self.first_bias) @ self.second + self.second_bias
        return result


@dataclass(frozen=True)
class SyntheticDesign:
    """The design, with a field for every constant. The paper does not state most of them; the defaults are ours
    (docs/decisions.md). Without biases (``bias_sd=0``) g_Z is odd and X_Z has mean zero, so that the interaction does
    not enter DPVar, as the paper says.
    """

    beta_int: float = 1.0
    attributes: int = 5
    features: int = 10
    latents: int = 3
    hidden: int = 32
    c_a: float = 1.0
    c_z: float = 1.0
    delta: float = 1.0
    auxiliary_sd: float = 0.3
    noise_x: float = 0.1
    noise_y: float = 0.1
    network_seed: int = 123
    bias_sd: float = 0.5

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not np.isfinite(value):
                raise InvalidInput(f"{name}={value} is not finite; a finite number is needed.")
            least = 1 if name in ("attributes", "features", "latents", "hidden") else 0
            if value < least and name not in ("beta_int", "c_a", "c_z", "delta"):
                raise InvalidInput(f"{name}={value} was given; a number ≥ {least} is needed.")

    @cached_property
    def networks(self) -> tuple[TwoLayer, TwoLayer, TwoLayer]:
        """g_A, g_Z and base; weights N(0, 1/fan-in), biases N(0, bias_sd²)."""
        random = np.random.default_rng(self.network_seed)

        def draw(inputs: int, outputs: int) -> TwoLayer:
            return TwoLayer(
                random.standard_normal((inputs, self.hidden)) / np.sqrt(inputs),
                random.standard_normal(self.hidden) * self.bias_sd,
                random.standard_normal((self.hidden, outputs)) / np.sqrt(self.hidden),
                random.standard_normal(outputs) * self.bias_sd,
            )

        return draw(self.attributes, self.features), draw(self.latents, self.features), draw(self.features, 1)

    def sample(self, rows: int, seed: int = 0) -> SyntheticRows:
        """Draw independent rows."""
        if rows < 1 or seed < 0:
            raise InvalidInput(f"rows={rows} and seed={seed} were given; rows ≥ 1 and seed ≥ 0 are needed.")
        random = np.random.default_rng(seed)
        a = self._attributes(rows, random)
        x, x_a, x_z = self._features(a, random)
        s = a[:, 0]
        interaction = (x_a * x_z).sum(axis=1)
        signal = self.networks[2](x)[:, 0] + self.delta * (s + s**3 / 2) + self.beta_int * interaction
        return SyntheticRows(x, a, signal + self.noise_y * random.standard_normal(rows))

    def true_dpvar(
        self, model: Callable[[Array], Array] | Any, profiles: int = 4000, draws: int = 16, seed: int = 987_654
    ) -> TrueDPVar:
        """Var_A E[f(X)|A] of a model (a function of X, or an object with ``predict``) by redrawing X given A.

        For each of ``profiles`` values of A the prediction is averaged over ``draws`` fresh X; the variance between
        profiles minus the variance of these averages is unbiased. If the function returns (config, row), the result
        holds arrays (config,).
        """
        predict = model.predict if hasattr(model, "predict") else model
        random = np.random.default_rng(seed)
        a = self._attributes(profiles, random)
        x, _, _ = self._features(np.repeat(a, draws, axis=0), random)
        predictions = np.asarray(predict(x), dtype=np.float64)
        predictions = predictions.reshape(*predictions.shape[:-1], profiles, draws)
        means, within = predictions.mean(axis=-1), predictions.var(axis=-1, ddof=1)
        between = (means - means.mean(axis=-1, keepdims=True)) ** 2 * profiles / (profiles - 1)
        contributions = between - within / draws
        value, error = contributions.mean(axis=-1), contributions.std(axis=-1, ddof=1) / np.sqrt(profiles)
        return TrueDPVar(float(value), float(error)) if value.ndim == 0 else TrueDPVar(value, error)

    def _attributes(self, rows: int, random: np.random.Generator) -> Array:
        primary = random.uniform(-1, 1, (rows, 1))
        return np.hstack([primary, self.auxiliary_sd * random.standard_normal((rows, self.attributes - 1))])

    def _features(self, a: Array, random: np.random.Generator) -> tuple[Array, Array, Array]:
        g_a, g_z, _ = self.networks
        x_a, x_z = g_a(a), g_z(random.standard_normal((len(a), self.latents)))
        noise = self.noise_x * random.standard_normal(x_a.shape)
        return self.c_a * x_a + self.c_z * x_z + x_a * x_z + noise, x_a, x_z

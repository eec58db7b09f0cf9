"""The one case with a known optimum: A, Z ~ N(0, 1), X = A + Z, Y = X; weight α gives f = 2X / (2 + α)."""

import numpy as np
import pytest

from fairlevel import FairRegressor, dpvar_interval

pytestmark = pytest.mark.study


@pytest.mark.parametrize("predictor", ["mlp", "linear", "random_features"])
def test_weight_two_halves_the_slope(predictor):
    random = np.random.default_rng(0)
    a = random.standard_normal(20_000)
    x = a + random.standard_normal(20_000)
    # y is standardised inside; the optimum for Var(y) = 2 is the same: the weight is dimensionless
    model = FairRegressor(weight=2.0, predictor=predictor, random_state=0).fit(x[:, None], x, sensitive_features=a)
    prediction = model.predict(x[:, None])
    slope = np.polyfit(x, prediction, 1)[0]
    found = dpvar_interval(prediction, sensitive_features=a)
    error = np.mean((prediction - x) ** 2)
    print(f"\n{predictor:16s} slope {slope:.4f} MSE {error:.4f} DPVar {found.estimate:.4f}")
    assert slope == pytest.approx(0.5, abs=0.02)
    assert error == pytest.approx(0.5, abs=0.03)
    assert found.estimate == pytest.approx(0.25, abs=0.02)

"""Row weights in fits: integer weights count like repeated rows."""

import numpy as np
import pytest

from fairlevel import ClosedFBO, FairnessPath, FairRegressor, RidgeMean, dpvar
from fairlevel.data.numbers import read_weights
from fairlevel.exceptions import InvalidInput, InvalidType
from fairlevel.metrics.profile import quantiles
from fairlevel.networks.mlp import MLP
from fairlevel.networks.optimizers import Adam
from fairlevel.predictors import Boosting
from tests.contracts.penalty_cases import quick_penalty

MEAN = RidgeMean(ridge=0.01)


@pytest.fixture(scope="module")
def weighted():
    """Few distinct values per feature, so that repeated rows do not move the bins of trees."""
    random = np.random.default_rng(0)
    x = random.integers(0, 6, size=(150, 4)).astype(float)
    a = x[:, [0]] + random.normal(size=(150, 1))
    y = x[:, 0] + x[:, 1] * x[:, 2] / 4 + random.normal(size=150)
    weight = random.integers(1, 4, size=150).astype(float)
    return x, y, a, weight, np.repeat(np.arange(150), weight.astype(int))


@pytest.mark.parametrize(
    ("predictor", "tolerance"),
    [
        ("linear", 4e-3),  # leave-one-out chooses the ridge, and a repeated row that is left out is not new
        (MLP(hidden=()), 1e-3),
        ("mlp", 1e-3),
        (Boosting(rounds=10, leaves=8, rows_in_leaf=1, features=1.0, bins=63), 1e-6),
    ],
)
def test_integer_weights_are_repeated_rows(weighted, predictor, tolerance):
    x, y, a, weight, rows = weighted
    settings = {
        "weight": 2.0,
        "penalty": ClosedFBO(MEAN),
        "predictor": predictor,
        "optimizer": Adam(learning_rate=0.03, steps=200),
        "validation_fraction": None,
        "random_state": 0,
    }
    one = FairRegressor(**settings).fit(x, y, sensitive_features=a, sample_weight=weight)
    other = FairRegressor(**settings).fit(x[rows], y[rows], sensitive_features=a[rows])
    plain = FairRegressor(**settings).fit(x, y, sensitive_features=a)
    difference = np.abs(one.predict(x) - other.predict(x)).max()
    assert difference < tolerance * np.ptp(y)
    assert np.abs(one.predict(x) - plain.predict(x)).max() > 5 * difference  # the weights do something
    assert one.mse_ == pytest.approx(other.mse_, rel=max(1e-3, tolerance))


@pytest.mark.parametrize("penalty", ["fbo_closed", "fbo_root", "fbo", "itd", "r2", "hsic", "gdp", "adversarial"])
def test_weights_reach_every_penalty(penalty):
    """Two groups; only rows of tiny weight are unlike. The weighted fit sees no disparity there, the plain one does."""
    random = np.random.default_rng(1)
    x = random.normal(size=(400, 3))
    a = random.normal(size=(400, 1))
    unlike = np.arange(400) < 150
    a[unlike] = 2 * x[unlike][:, [0]] + 0.1 * a[unlike]
    y = x[:, 0] + 0.1 * random.normal(size=400)
    settings = {
        "weight": 3.0,
        "penalty": quick_penalty(penalty),
        "predictor": MLP(hidden=()),
        "validation_fraction": None,
    }
    optimizer = Adam(0.02, steps=200) if penalty == "hsic" else Adam(0.06, steps=60)  # its effect is small
    settings |= {"optimizer": optimizer, "random_state": 0}
    weighted = FairRegressor(**settings).fit(x, y, sensitive_features=a, sample_weight=np.where(unlike, 1e-6, 1.0))
    plain = FairRegressor(**settings).fit(x, y, sensitive_features=a)
    new = random.normal(size=(500, 3))
    assert np.var(weighted.predict(new)) > 1.02 * np.var(plain.predict(new))  # nothing to level, so nothing is lost


def test_rows_without_weight_do_not_count(weighted):
    x, y, a, _, _ = weighted
    kept = np.arange(150) < 120
    settings = {"predictor": MLP(hidden=(16,)), "random_state": 0, "optimizer": Adam(steps=20)}
    path = FairnessPath("spectral", **settings)
    path.fit(x, np.where(kept, y, 1e6), sensitive_features=a, sample_weight=kept.astype(float))
    alone = FairnessPath("spectral", **settings).fit(x[kept], y[kept], sensitive_features=a[kept])
    np.testing.assert_allclose(path.front_[["mse", "dpvar"]], alone.front_[["mse", "dpvar"]], rtol=1e-6)
    np.testing.assert_allclose(path.predict(x), alone.predict(x), rtol=1e-6)


def test_a_path_judges_by_weight():
    """y follows x on heavy rows and −x on light ones: only the first rule is accurate under the weights."""
    random = np.random.default_rng(2)
    x, heavy = random.normal(size=(600, 2)), random.random(600) < 0.5
    y = np.where(heavy, 1.0, -1.0) * x[:, 0] + 0.1 * random.normal(size=600)
    a = x[:, [0]] + random.normal(size=(600, 1))
    weight = np.where(heavy, 1.0, 1e-3)
    path = FairnessPath("spectral", predictor="linear", optimizer=Adam(0.05, steps=100), random_state=0)
    path.fit(x, y, sensitive_features=a, sample_weight=weight)
    assert path.front_["mse"].min() < 0.1
    assert path.model(-1).score(x, y, sample_weight=weight) > 0.95
    assert path.model(-1).score(x[~heavy], y[~heavy]) < 0


def test_weighted_quantiles_are_those_of_repeated_values():
    values, weight = np.array([[3.0, 1.0, 2.0], [5.0, 5.0, 7.0]]), np.array([1.0, 3.0, 2.0])
    repeated = np.repeat(values, weight.astype(int), axis=1)
    found = np.quantile(repeated, np.linspace(0, 1, 11), axis=1, method="inverted_cdf").T
    np.testing.assert_array_equal(quantiles(values, 11, weight), found)


@pytest.mark.parametrize(
    ("weight", "error", "says"),
    [
        (np.ones(3), InvalidInput, "shape"),
        ([1, -1, 1, 1], InvalidInput, "1 negative"),
        ([1, np.nan, 1, 1], InvalidInput, "1 missing"),
        (np.zeros(4), InvalidInput, "zero on all rows"),
        (["a"] * 4, InvalidType, "not numbers"),
    ],
)
def test_bad_weights_are_refused(weight, error, says):
    with pytest.raises(error, match=says):
        read_weights(weight, 4)
    assert read_weights(np.ones(4), 4) is None


@pytest.mark.parametrize("scale", [1e-6, 1 / 300])
def test_weights_that_do_not_count_rows_train_the_same_boosters(scale):
    """With weights that sum to 1, LightGBM took all rows together for less than one: models were constant."""
    random = np.random.default_rng(0)
    x = random.standard_normal((300, 2))
    a, y = x[:, 0] + random.standard_normal(300), x @ [2, 1]
    one, small = (
        FairRegressor(predictor=Boosting(rounds=20), random_state=0)
        .fit(x, y, sensitive_features=a, sample_weight=np.full(300, weight))
        .predict(x)
        for weight in (1.0, scale)
    )
    np.testing.assert_allclose(small, one, rtol=1e-6)
    assert one.std() > 0.5


@pytest.mark.parametrize("sign", [1, -1])
def test_the_figure_of_a_fit_is_that_of_the_metric(sign):
    """Random features know no sign of A: a fit read A as given, the metric with positive skew."""
    random = np.random.default_rng(7)
    a = random.standard_normal((400, 2))
    weight = 1.0 + np.arange(400) % 3
    y = 0.3 * np.cos(3 * a[:, 0]) * a[:, 1] + 0.5 * random.standard_normal(400)
    model = FairRegressor(0.0, predictor="linear", optimizer=Adam(0.1, steps=30), random_state=0)
    model.fit(y[:, None], y, sensitive_features=sign * a, sample_weight=weight)
    found = dpvar(None, model.predict(y[:, None]), sensitive_features=sign * a, sample_weight=weight)
    assert model.dpvar_ == pytest.approx(found, rel=1e-9)

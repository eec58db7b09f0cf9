"""given=L in training: level within legitimate factors."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from fairlevel import ClosedFBO, FairnessPath, FairRegressor, RandomFeaturesMean, dpvar, relevel
from fairlevel.exceptions import InvalidInput, MissingSensitiveFeatures
from fairlevel.networks.mlp import MLP
from fairlevel.networks.optimizers import Adam
from fairlevel.penalties.inner_losses import Huber
from fairlevel.predictors import Boosting

ADAM = Adam(learning_rate=0.1, steps=100)


@pytest.fixture(scope="module")
def design():
    """y = 2 L + B with A = L + B + noise: L is legitimate, B is not."""
    random = np.random.default_rng(0)
    factor, beyond = random.normal(size=(2, 2000))
    x = np.column_stack([factor, beyond, random.normal(size=2000)])
    a = (factor + beyond + 0.3 * random.normal(size=2000))[:, None]
    return x, 2 * factor + beyond + 0.1 * random.normal(size=2000), a, factor


@pytest.mark.parametrize(
    ("penalty", "predictor", "large"),
    [
        ("fbo_closed", "linear", 20.0),
        ("fbo_closed", MLP(hidden=(16,)), 20.0),
        ("fbo_closed", Boosting(rounds=80, learning_rate=0.2), 20.0),
        ("fbo_root", "linear", 20.0),
        ("r2", "linear", 3.0),
        (ClosedFBO(RandomFeaturesMean(), loss=Huber()), "linear", 20.0),
    ],
)
def test_what_the_factor_explains_stays(design, penalty, predictor, large):
    x, y, a, factor = design
    train, test = slice(0, 700), slice(1400, None)
    found = {}
    for weight in (0.0, large):
        model = FairRegressor(
            weight,
            penalty=penalty,
            predictor=predictor,
            optimizer=ADAM,
            validation_fraction=None,
            random_state=0,
        )
        model.fit(x[train], y[train], sensitive_features=a[train], given=factor[train])
        f = model.predict(x[test])
        found[weight] = f, dpvar(None, f, sensitive_features=a[test], given=factor[test])
    assert found[0.0][1] > 0.5
    assert found[large][1] < 0.2 * found[0.0][1]
    slope = np.polyfit(factor[test], found[large][0], 1)[0]
    assert slope == pytest.approx(2.0, abs=0.35)  # E[f | L] keeps its shape
    assert dpvar(None, found[large][0], sensitive_features=a[test]) > 1  # and so the unconditional DPVar is large


def test_a_path_within_factors(design):
    x, y, a, factor = design
    path = FairnessPath("spectral", predictor="linear", random_state=0, optimizer=ADAM)
    path.fit(x[:1000], y[:1000], sensitive_features=a[:1000], given=factor[:1000])
    model = path.model(0)
    new = model.predict(x[1000:])
    within = dpvar(None, new, sensitive_features=a[1000:], given=factor[1000:])
    plain = dpvar(None, path.model(-1).predict(x[1000:]), sensitive_features=a[1000:], given=factor[1000:])
    assert within < 0.1 * plain
    assert path.front_["dpvar"].iloc[-1] == pytest.approx(plain, rel=0.3)
    assert np.corrcoef(new, factor[1000:])[0, 1] > 0.9


@pytest.mark.parametrize("penalty", ["hsic", "gdp", "adversarial", "fbo", "itd"])
def test_penalties_that_cannot_refuse_by_name(design, penalty):
    x, y, a, factor = design
    with pytest.raises(InvalidInput, match=f"penalty '{penalty}' cannot"):
        FairRegressor(1.0, penalty=penalty, predictor="linear", optimizer=ADAM).fit(
            x, y, sensitive_features=a, given=factor
        )


def test_bad_factors(design):
    x, y, a, factor = design
    model = FairRegressor(1.0, predictor="linear", optimizer=ADAM)
    with pytest.raises(InvalidInput, match="same as sensitive"):
        model.fit(x, y, sensitive_features=a, given=a)
    with pytest.raises(InvalidInput, match="single value"):
        model.fit(x, y, sensitive_features=a, given=np.ones(2000))
    with pytest.raises(MissingSensitiveFeatures, match="without sensitive_features"):
        model.fit(x, y, given=factor)


def test_a_model_that_exists_is_levelled_within_factors(design):
    x, y, a, factor = design
    model = RandomForestRegressor(60, min_samples_leaf=5, random_state=0).fit(x[:800], y[:800])
    front = relevel(model, x[800:1600], sensitive_features=a[800:1600], y=y[800:1600], given=factor[800:1600])
    chosen = int(np.flatnonzero(front.front_["dpvar"] < 0.35 * front.front_["dpvar"].iloc[-1])[-1])
    plain, level = front.model(-1).predict(x[1600:]), front.model(chosen).predict(x[1600:])
    within = [dpvar(None, f, sensitive_features=a[1600:], given=factor[1600:]) for f in (plain, level)]
    assert within[1] < 0.5 * within[0]
    slopes = [np.polyfit(factor[1600:], f, 1)[0] for f in (plain, level)]
    assert slopes[1] / slopes[0] > np.sqrt(within[1] / within[0]) + 0.05  # more is left of L than by shrinking

"""Robust-mean and median parity, end to end: the variance of the conditional Huber mean and median over A falls."""

import numpy as np
import pytest
from scipy.optimize import brentq

from fairlevel import FBO, ITD, ClosedFBO, FairRegressor
from fairlevel.conditional_mean.inner_losses import Huber, Pinball
from fairlevel.data.synthetic import SyntheticDesign
from fairlevel.estimators.fair_regressor import fit_weights
from fairlevel.stacked.optimizers import Adam

pytestmark = pytest.mark.study

DESIGN = SyntheticDesign(beta_int=1.0)


def conditional_medians(draws):
    return np.median(draws, axis=1)


def conditional_huber_means(draws, delta):
    def centre(values):
        return brentq(
            lambda h: np.sum((values - h) / np.sqrt(1 + ((values - h) / delta) ** 2)), values.min(), values.max()
        )

    return np.array([centre(values) for values in draws])


def level_variance(model, loss, scale, profiles=800, draws=200):
    """Var over A of the true conditional level, by redrawing X given A."""
    random = np.random.default_rng(11)
    a = DESIGN._attributes(profiles, random)
    x, _, _ = DESIGN._features(np.repeat(a, draws, axis=0), random)
    predictions = model.predict(x).reshape(profiles, draws)
    if isinstance(loss, Huber):
        return conditional_huber_means(predictions, loss.delta * scale).var()
    return conditional_medians(predictions).var()


@pytest.mark.parametrize("loss", [Huber(0.3), Pinball(0.5, 0.1)], ids=repr)
@pytest.mark.parametrize(
    ("kind", "weight"), [(ClosedFBO, 30.0), (FBO, 30.0), (ITD, 100.0)], ids=lambda v: getattr(v, "name", v)
)
def test_level_variance_falls_by_four_fifths(kind, weight, loss):
    rows = DESIGN.sample(3000, seed=0)
    # the slope of a quantile loss is bounded: the inner network needs longer steps to follow
    settings = {} if kind is ClosedFBO else {"inner_learning_rate": 0.1 if isinstance(loss, Huber) else 0.4}
    estimator = FairRegressor(penalty=kind(loss=loss, **settings), optimizer=Adam(5e-3, steps=600), random_state=0)
    plain, fair = fit_weights(estimator, [0.0, weight], rows.x, rows.y, sensitive_features=rows.a)
    before, after = (level_variance(model, loss, rows.y.std()) for model in (plain, fair))
    print(f"\n{kind.name:10s} {loss!r:32s} before {before:.4f} after {after:.4f} fall {1 - after / before:.1%}")
    assert after <= 0.2 * before

"""Random features on few rows."""

import numpy as np

from fairlevel import FairRegressor
from fairlevel.predictors import RandomFeatures


def test_noise_of_few_rows_is_not_learnt():
    random = np.random.default_rng(0)
    x, a = random.standard_normal((1150, 8)), random.standard_normal((1150, 1))
    y = x[:, 0] + np.sin(x[:, 1]) + 0.5 * random.standard_normal(1150)
    new = slice(150, None)

    def score(predictor):
        model = FairRegressor(0.0, predictor=predictor, random_state=0)
        return model.fit(x[:150], y[:150], sensitive_features=a[:150]).score(x[new], y[new])

    assert score("random_features") > 0.5  # 1 - 0.25 / 1.68 at best
    assert score(RandomFeatures(ridge=1e-6)) < score("random_features") - 0.1  # all directions alike

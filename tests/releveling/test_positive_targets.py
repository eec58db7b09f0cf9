"""Models of amounts and counts: corrections are sums, so that some may fall below 0."""

import warnings

import lightgbm as lgb
import numpy as np
import pytest
from catboost import CatBoostRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import GammaRegressor
from xgboost import XGBRegressor

from fairlevel import relevel
from fairlevel.exceptions import NegativePredictions, NoTreesToChange

RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal(800)
X = np.column_stack([RANDOM.standard_normal(800) + A, RANDOM.standard_normal(800)])
Y = RANDOM.poisson(np.exp(0.8 * X[:, 0] - 0.5))
SEEN, NEW = slice(0, 400), slice(400, None)
LOG_LINKS = {
    "lightgbm": lambda: lgb.LGBMRegressor(objective="poisson", n_estimators=30, verbose=-1),
    "lightgbm tweedie": lambda: lgb.LGBMRegressor(objective="tweedie", n_estimators=30, verbose=-1),
    "xgboost": lambda: XGBRegressor(objective="count:poisson", n_estimators=30),
    "catboost": lambda: CatBoostRegressor(loss_function="Poisson", iterations=30, verbose=0, allow_writing_files=False),
    "histogram": lambda: HistGradientBoostingRegressor(loss="poisson", max_iter=30),
}


def releveled(predict, x, a, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        front = relevel(predict, x, sensitive_features=a, y=y, points=5)
    return front, [str(each.message) for each in caught if each.category is NegativePredictions]


def prices(rows):
    """Of which a gamma model is an exponential function, (row, feature), (row,), (row,)."""
    a, noise, other = np.random.default_rng(0).standard_normal((3, rows))
    x = np.column_stack([a + 0.3 * noise, other])
    return x, a, np.random.default_rng(1).gamma(2, np.exp(0.6 * x[:, 0] + x[:, 1]) / 2)


def test_predictions_below_zero_are_counted_where_the_model_has_none():
    x, a, y = prices(2000)
    model = GammaRegressor(alpha=0).fit(x, y)
    front, (sentence,) = releveled(model.predict, x, a, y)
    below = max((front.model(row).predict(x) < 0).sum() for row in range(len(front)))
    assert below > 50
    counted = int(sentence.split()[2])
    assert counted == pytest.approx(below, rel=0.1), "the count is of folds that did not fit the correction"
    assert f"of 2,000 rows ({counted / 2000:.1%})" in sentence
    assert sentence in front.notes()


def test_a_model_that_predicts_below_zero_itself_is_not_warned_of():
    x, a, y = prices(2000)
    model = GammaRegressor(alpha=0).fit(x, y)
    assert releveled(lambda rows: model.predict(rows) - 0.1, x, a, y)[1] == []


@pytest.mark.parametrize("name", LOG_LINKS)
def test_trees_behind_a_log_link_are_not_changed_yet(name):
    model = LOG_LINKS[name]().fit(X[SEEN], Y[SEEN])
    with pytest.raises(NoTreesToChange, match=r"cannot yet change the trees of a model with .* \(a log link\)"):
        relevel(model, X[NEW], sensitive_features=A[NEW], method="averages")

"""relevel of classifiers: DPVar is that of probabilities, and the model that comes back is of the same type."""

from functools import cache

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairlevel import relevel
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics.evaluator import DPVarEvaluator
from fairlevel.trees import NotASumOfLeaves, read_ensemble
from tests.releveling.elsewhere import predictions_elsewhere


def draw(n, seed):
    random = np.random.default_rng(seed)
    a = pd.DataFrame({"age": random.standard_normal(n)})
    x = pd.DataFrame(random.standard_normal((n, 4)), columns=list("bcde"))
    x["b"] += 1.5 * a["age"]
    score = x["b"] + np.sin(2 * x["c"]) * 2 + x["d"] * x["e"]
    return x, np.where(random.random(n) < 1 / (1 + np.exp(-2 * score)), "yes", "no"), a


TRAIN, OWN, FRESH = draw(450, 0), draw(450, 1), draw(3000, 2)
MODELS = {
    "lightgbm": lgb.LGBMClassifier(n_estimators=25, num_leaves=8, verbose=-1, n_jobs=1),
    "lightgbm, steep": lgb.LGBMClassifier(n_estimators=25, num_leaves=8, sigmoid=2.0, verbose=-1, n_jobs=1),
    "lightgbm forest": lgb.LGBMClassifier(
        n_estimators=25, boosting_type="rf", bagging_freq=1, bagging_fraction=0.6, verbose=-1, n_jobs=1
    ),
    "xgboost": xgb.XGBClassifier(n_estimators=25, max_depth=3, n_jobs=1),
    "histogram": HistGradientBoostingClassifier(max_iter=25, max_leaf_nodes=8),
    "gradient boosting": GradientBoostingClassifier(n_estimators=25),
    "catboost": catboost.CatBoostClassifier(iterations=25, depth=4, verbose=0, allow_writing_files=False),
    "pipeline": make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=25, max_leaf_nodes=8)),
    "forest": RandomForestClassifier(25, min_samples_leaf=5, random_state=0),
    "logistic": LogisticRegression(),
}
WITH_CORRECTION = ("forest", "logistic")


@cache
def fitted(name):
    x, y, _ = TRAIN
    return MODELS[name].fit(x, np.where(y == "yes", 1, 0) if name == "xgboost" else y)


@cache
def front_of(name):
    x, y, a = OWN
    y = np.where(y == "yes", 1, 0) if name == "xgboost" else y
    return relevel(fitted(name), x, sensitive_features=a, y=y, points=6)


@cache
def fresh_evaluator():
    """What depends on A, which is the larger part of the work, is computed once."""
    return DPVarEvaluator(Attributes(FRESH[2].to_numpy()), 0)


@pytest.fixture(params=MODELS)
def case(request):
    return request.param, fitted(request.param), front_of(request.param)


def test_leaves_add_up_to_log_odds(case):
    name, model, _ = case
    if name in (*WITH_CORRECTION, "pipeline"):
        return
    ensemble, x = read_ensemble(model), OWN[0]
    assert ensemble.log_odds
    probability = model.predict_proba(x)[:, 1]
    np.testing.assert_allclose(1 / (1 + np.exp(-ensemble.total(x))), probability, rtol=1e-5)
    leaves = ensemble.leaves(x)
    rest = ensemble.total(x) - sum(own[leaves[:, tree]] for tree, own in enumerate(ensemble.leaf_values))
    assert np.ptp(rest) < 1e-5


def test_probabilities_become_level_and_the_type_stays(case):
    name, model, front = case
    best = front.best(max_share=0.1)
    assert (type(best) is type(model)) == (name not in WITH_CORRECTION)
    x, y, _ = FRESH
    before, after = (each.predict_proba(x) for each in (model, best))
    np.testing.assert_allclose(after.sum(axis=1), 1)
    assert (after >= 0).all()
    share = [interval.share for interval in fresh_evaluator().intervals([before[:, 1], after[:, 1]])]
    assert share[1] < 0.17 < 0.25 < share[0]
    assert roc_auc_score(y, after[:, 1]) > 0.6
    np.testing.assert_array_equal(best.predict(x), np.asarray(model.classes_)[(after[:, 1] > 0.5).astype(int)])


def test_the_last_point_is_the_model_and_figures_are_those_of_new_rows(case):
    name, model, front = case
    assert front.model(-1) is model
    assert tuple(front.classes_) == ((0, 1) if name == "xgboost" else ("no", "yes"))
    x, y, _ = FRESH
    for number in (2, 5):
        p, claimed = front.model(number).predict_proba(x)[:, 1], front.front_.iloc[number]
        assert log_loss(y, p) == pytest.approx(claimed["log_loss"], rel=0.15)
        assert roc_auc_score(y, p) == pytest.approx(claimed["auc"], abs=0.06)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    ways = {
        "lightgbm": ("lightgbm", "m.predict(x)"),
        "xgboost": ("xgboost classifier", "m.predict_proba(x)[:, 1]"),
        "histogram": ("pickle", "m.predict_proba(x)[:, 1]"),
    }
    trips = [
        (loader, front_of(name).best(max_share=0.1), FRESH[0], predict) for name, (loader, predict) in ways.items()
    ]
    return dict(zip(ways, predictions_elsewhere(trips, tmp_path_factory.mktemp("elsewhere")), strict=True))


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "histogram"])
def test_round_trip_through_the_models_own_library(name, elsewhere):
    best = front_of(name).best(max_share=0.1)
    np.testing.assert_allclose(elsewhere[name], best.predict_proba(FRESH[0])[:, 1], rtol=1e-5)


def test_boosters_alone_are_classifiers_too():
    x, y, a = OWN
    booster = lgb.train(
        {"objective": "binary", "verbosity": -1, "num_leaves": 8}, lgb.Dataset(TRAIN[0], TRAIN[1] == "yes"), 20
    )
    front = relevel(booster, x, sensitive_features=a, y=y, points=4)
    level = front.best(max_share=0.2).predict(FRESH[0])
    (interval,) = fresh_evaluator().intervals([level])
    assert interval.share < 0.3
    assert ((level > 0) & (level < 1)).all()


def test_several_classes_are_refused_by_the_ensemble():
    model = HistGradientBoostingClassifier(max_iter=2).fit(TRAIN[0], np.arange(len(TRAIN[0])) % 3)
    with pytest.raises(NotASumOfLeaves, match="3 classes"):
        read_ensemble(model)


def test_the_page_of_a_classifier(tmp_path):
    front_of("lightgbm").to_html(tmp_path / "front.html")
    assert "log-loss" in (tmp_path / "front.html").read_text(encoding="utf-8")

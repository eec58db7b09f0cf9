"""relevel, end to end: models of other libraries come back level, in their own format."""

from copy import deepcopy
from functools import cache

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from fairlevel import relevel
from fairlevel.exceptions import InvalidType, SeenRows
from fairlevel.metrics.evaluator import DPVarEvaluator
from tests.releveling.elsewhere import predictions_elsewhere
from tests.releveling.rows_and_models import FRESH, MODELS, OWN, TRAIN, fitted, fresh_evaluator, front_of

POINTS = (2, 6, 10)


@cache
def on_fresh_rows(name):
    """Predictions and intervals of the model, of the level one and of three points, measured together: what depends on
    A is the larger part of the work.
    """
    front = front_of(name)
    models = [fitted(name), front.best(max_share=0.1), *(front.model(number) for number in POINTS)]
    predictions = np.stack([model.predict(FRESH[0]) for model in models])
    return models[1], predictions, fresh_evaluator().intervals(predictions)


@pytest.fixture(params=MODELS)
def case(request):
    return request.param, fitted(request.param), front_of(request.param)


def test_the_model_comes_back_level_and_of_its_own_type(case):
    name, model, _ = case
    best, predictions, (before, after, *_) = on_fresh_rows(name)
    if name != "linear":
        assert type(best) is type(model)
    assert after.share < 0.15 < before.share
    if name != "linear":  # whose level part has nothing to predict with
        assert ((predictions[1] - FRESH[1]) ** 2).mean() < FRESH[1].var()


def test_the_last_point_is_the_model_itself(case):
    _, model, front = case
    assert front.model(-1) is model
    assert front.front_["distance"].iloc[-1] == 0
    assert front.front_["dpvar"].is_monotonic_increasing
    assert front.best(max_share=1.0) is model


def test_claims_hold_on_new_rows(case):
    name, _, front = case
    _, predictions, intervals = on_fresh_rows(name)
    for number, new, interval in zip(POINTS, predictions[2:], intervals[2:], strict=True):
        claimed = front.front_.iloc[number]
        assert ((new - FRESH[1]) ** 2).mean() == pytest.approx(claimed["mse"], rel=0.2)
        assert interval.estimate < 1.6 * claimed["dpvar_high"] + 0.01


def test_every_figure_is_a_copy_of_a_shifted_target(case):
    """The front of y + 50 is the front of y."""
    name, model, front = case
    if name in ("pipeline", "xgboost"):  # 32-bit leaves
        return
    shifted = clone(MODELS[name]).fit(TRAIN[0], TRAIN[1] + 50) if name != "forest" else forest_plus(50, model)
    other = relevel(shifted, OWN[0], sensitive_features=OWN[2], y=OWN[1] + 50)
    np.testing.assert_allclose(other.front_["mse"], front.front_["mse"], rtol=0.02)
    np.testing.assert_allclose(other.front_["dpvar"], front.front_["dpvar"], rtol=0.05, atol=0.003)


def forest_plus(number, forest):
    """Its predictions and a number; a forest that is trained anew breaks ties in another way."""
    moved = deepcopy(forest)
    for tree in moved.estimators_:
        tree.tree_.value[:] += number
    return moved


def test_notes_say_whether_models_learned_from_the_target():
    def learned(**more):
        front = relevel(fitted("lightgbm"), OWN[0], sensitive_features=OWN[2], points=3, **more)
        return any("learned from the target" in note for note in front.notes())

    assert learned(y=OWN[1])
    assert not learned()
    assert not learned(y=OWN[1], seen=True)


def test_without_labels_the_front_shows_the_distance():
    model = fitted("lightgbm")
    front = relevel(model, OWN[0], sensitive_features=OWN[2])
    assert front.front_["mse"].isna().all()
    assert not front.front_["mse_valid"].any()
    assert front.front_["distance"].is_monotonic_decreasing
    (interval,) = fresh_evaluator().intervals([front.best(max_share=0.1).predict(FRESH[0])])
    assert interval.share < 0.15


def test_leaves_change_less_than_trees():
    model = lgb.LGBMRegressor(n_estimators=15, num_leaves=8, verbose=-1, n_jobs=1).fit(*TRAIN[:2])
    distance = {}
    for method in ("trees", "leaves"):
        front = relevel(model, OWN[0], sensitive_features=OWN[2], method=method).front_
        distance[method] = float(np.interp(0.3 * front["dpvar"].iloc[-1], front["dpvar"], front["distance"]))
    assert distance["leaves"] < distance["trees"]


def gaps_and_categories(rows):
    """The same rows with missing values and a column of categories that the target follows."""
    x, y, a = rows
    kind = (np.arange(len(x)) * 7) % 5
    x = x.assign(kind=pd.Categorical(kind)).mask(np.random.default_rng(3).random((len(x), 6)) < 0.1)
    return x.astype({"kind": pd.CategoricalDtype(range(5))}), y + kind % 2, a


UNUSUAL = {
    "lightgbm": lambda **more: lgb.LGBMRegressor(n_estimators=60, verbose=-1, n_jobs=1, **more),
    "xgboost": lambda **more: xgb.XGBRegressor(n_estimators=40, enable_categorical=True, n_jobs=1, **more),
    "histogram": lambda **more: HistGradientBoostingRegressor(
        max_iter=50, categorical_features="from_dtype", random_state=0, **more
    ),
}


KINDS = [
    (name, kind)
    for name in UNUSUAL
    for kind in ("plain", "early stopped", "dart")
    if (name, kind) != ("histogram", "dart")  # which scikit-learn does not have
]


@cache
def unusual(name, kind):
    """A model of rows with gaps and categories, and what relevel makes of it."""
    train, own = map(gaps_and_categories, (TRAIN, OWN))
    fit = {}
    if kind == "early stopped":
        x, y = own[:2]
        fit = {
            "lightgbm": {"eval_X": x, "eval_y": y, "callbacks": [lgb.early_stopping(2, verbose=False)]},
            "xgboost": {"eval_set": [(x, y)], "verbose": False},
        }.get(name, {})
    more = {
        ("lightgbm", "dart"): {"boosting_type": "dart"},
        ("xgboost", "dart"): {"booster": "dart", "rate_drop": 0.2},
        ("lightgbm", "early stopped"): {"learning_rate": 0.5},
        ("xgboost", "early stopped"): {"early_stopping_rounds": 2, "learning_rate": 0.5},
        ("histogram", "early stopped"): {"early_stopping": True, "n_iter_no_change": 2, "learning_rate": 0.5},
    }.get((name, kind), {})
    model = UNUSUAL[name](**more).fit(*train[:2], **fit)
    front = relevel(model, own[0], sensitive_features=own[2], y=own[1], points=3)
    return model, front.best(max_share=0.1)


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_models_with_gaps_categories_early_stopping_and_dart_become_level(name, kind):
    x, _, _ = gaps_and_categories(FRESH)
    before, after = fresh_evaluator().intervals([each.predict(x) for each in unusual(name, kind)])
    assert after.share < 0.15 < before.share


LOADER = {"lightgbm": "lightgbm", "xgboost": "xgboost"}  # the others are pickled
TRIPS = [(name, None) for name in ("lightgbm", "xgboost", "histogram", "forest")] + KINDS


@cache
def traveller(name, kind):
    """A model and rows for it."""
    if kind is None:
        return front_of(name).best(max_share=0.05), FRESH[0]
    return unusual(name, kind)[1], gaps_and_categories(FRESH)[0]


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    trips = [(LOADER.get(name, "pickle"), *traveller(name, kind), "m.predict(x)") for name, kind in TRIPS]
    return dict(zip(TRIPS, predictions_elsewhere(trips, tmp_path_factory.mktemp("elsewhere")), strict=True))


@pytest.mark.parametrize(("name", "kind"), TRIPS)
def test_round_trip_through_the_models_own_library(name, kind, elsewhere):
    model, x = traveller(name, kind)
    rtol = 1e-5 if name == "xgboost" else 1e-6
    np.testing.assert_allclose(elsewhere[name, kind], model.predict(x), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", ["lightgbm", "forest"])
def test_averages_in_leaves_change_less_than_weights_of_trees_at_the_same_dpvar(name):
    model = MODELS[name].fit(*TRAIN[:2])
    distance = {}
    for method in ("trees", "averages"):
        front = relevel(model, OWN[0], sensitive_features=OWN[2], method=method).front_
        distance[method] = float(np.interp(0.3 * front["dpvar"].iloc[-1], *front[["dpvar", "distance"]].T.to_numpy()))
    assert distance["averages"] < distance["trees"]


def test_models_are_given_before_any_interval_is_computed(monkeypatch):
    model = MODELS["lightgbm"].fit(*TRAIN[:2])
    asked = []
    evidence = DPVarEvaluator.evidence
    monkeypatch.setattr(DPVarEvaluator, "evidence", lambda self, rows: asked.append(len(rows)) or evidence(self, rows))
    front = relevel(model, OWN[0], sensitive_features=OWN[2], y=OWN[1], method="trees", points=5)
    assert len(front.models()) == len(front) == 5
    assert not asked
    assert len(front.front_) == 5
    front.best(max_dpvar=0.5 * front.front_["dpvar"].iloc[-1])
    assert asked == [4, 1]
    asked.clear()
    relevel(model, OWN[0], sensitive_features=OWN[2], y=OWN[1], method="trees", points=5).best(max_share=0.99)
    assert asked == [1]  # the model as it is keeps the budget: no other point is needed


@pytest.mark.parametrize("name", ["lightgbm", "histogram", "xgboost"])
def test_rows_of_training_are_noticed(name):
    model = fitted(name)
    with pytest.warns(SeenRows, match="trained on"):
        front = relevel(model, TRAIN[0], sensitive_features=TRAIN[2], y=TRAIN[1], points=3)
    assert front.seen_
    assert not front.front_["mse_valid"].any()
    assert any("not valid" in note for note in front.notes())
    assert relevel(model, OWN[0], sensitive_features=OWN[2], y=OWN[1], seen=True, points=3).seen_


def test_weights_of_rows_count_like_repeated_rows():
    model = fitted("lightgbm")
    weight, few = np.random.default_rng(0).integers(0, 3, len(OWN[1])), {"method": "trees", "points": 3}
    weighted = relevel(model, OWN[0], sensitive_features=OWN[2], y=OWN[1], sample_weight=weight, **few)
    index = np.repeat(np.arange(len(weight)), weight)
    x, y, a = (each.iloc[index].reset_index(drop=True) for each in OWN)
    repeated = relevel(model, x, sensitive_features=a, y=y, **few)
    share = [front.front_["share"].iloc[-1] for front in (weighted, repeated)]
    assert share[0] == pytest.approx(share[1], abs=0.05)
    assert weighted.front_["mse"].iloc[-1] == pytest.approx(repeated.front_["mse"].iloc[-1], rel=1e-9)


def test_quantiles_of_conditional_means_count_weights():
    """Rows of high age count for ten, so the middle profile is theirs."""
    x, _, a = OWN
    weight = np.where(a["age"] > 0, 10.0, 1.0)
    fronts = [
        relevel(lambda x: x["x0"], x, sensitive_features=a, sample_weight=own, points=2) for own in (weight, None)
    ]
    high, all_rows = (front.conditional_means()[-1, 100] for front in fronts)
    assert high > all_rows + 0.3


def test_models_that_read_sensitive_attributes_work_and_the_page_says_so(tmp_path):
    x, y, a = pd.concat([OWN[0], OWN[2]], axis=1), OWN[1], OWN[2]
    model = lgb.LGBMRegressor(n_estimators=30, verbose=-1, n_jobs=1)
    model.fit(pd.concat([TRAIN[0], TRAIN[2]], axis=1), TRAIN[1])
    front = relevel(model, x, sensitive_features=a, y=y, points=3)
    assert front.sensitive_inputs_ == ("age ~ age", "income ~ income")
    front.to_html(tmp_path / "front.html")
    assert "reads sensitive attributes: age" in (tmp_path / "front.html").read_text(encoding="utf-8")
    assert front.audit(0).interval.share < front.audit(-1).interval.share
    assert front.plot() is not None
    assert "models, share from" in repr(front)


def test_audits_of_points_know_groups_target_and_categories():
    """Copies of rows counted as rows, errors were left out, and categories were columns of zeros and ones."""
    x, y, a = (part[:150] for part in OWN)
    town = pd.DataFrame({"town": np.where(a["age"] > 0, "Paris", "Rome")})
    copies = np.repeat(np.arange(len(x)), 4)
    rows = {"sensitive_features": town.iloc[copies], "y": y.iloc[copies]}
    front = relevel(LinearRegression().fit(*TRAIN[:2]), x.iloc[copies], groups=copies, points=3, **rows)
    last, audited = front.front_.iloc[-1], front.audit(-1)
    assert (audited.interval.low, audited.interval.high) == pytest.approx((last["dpvar_low"], last["dpvar_high"]))
    assert audited.accuracy["mse"] == pytest.approx(last["mse"])
    assert audited.provenance.columns["sensitive"] == ("town",)


def test_audits_of_rows_that_the_model_has_seen_show_no_errors():
    x, y, a = (part[:150] for part in OWN)
    front = relevel(LinearRegression().fit(x, y), x, sensitive_features=a, y=y, seen=True, points=3)
    assert front.audit(-1).accuracy == {}


def test_a_booster_of_xgboost_has_no_predictions_of_tables_to_correct():
    x, _, a = OWN
    with pytest.raises(InvalidType, match=r"relevel\(lambda X: model.predict\(xgboost.DMatrix\(X\)\), X, ...\)"):
        relevel(fitted("xgboost").get_booster(), x, sensitive_features=a, method="correction")

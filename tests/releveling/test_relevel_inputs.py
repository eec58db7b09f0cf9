"""Which models and tables ``relevel`` takes, and what it refuses."""

import pickle
from typing import ClassVar

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost as xgb
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

from fairlevel import relevel
from fairlevel.exceptions import InvalidInput, InvalidType, UnknownName
from tests.releveling.rows_and_models import FRESH, OWN, TRAIN, fitted, fresh_evaluator


def test_columns_are_matched_by_name():
    model = fitted("lightgbm")
    shuffled = OWN[0][OWN[0].columns[::-1]]
    same, other = (relevel(model, x, sensitive_features=OWN[2], method="trees", points=5) for x in (OWN[0], shuffled))
    pd.testing.assert_frame_equal(same.front_, other.front_)


@pytest.mark.parametrize("name", ["forest", "lightgbm", "linear"])
def test_columns_of_polars_are_matched_by_name(name):
    """A forest was said not to be fitted, and other models read columns by position."""
    x, y = (part[:200] for part in OWN[:2])
    frames = x, pl.from_pandas(x[x.columns[::-1]])
    settings = {"sensitive_features": x[["x0"]].rename(columns={"x0": "age"}), "y": y, "points": 3}
    same, other = (relevel(fitted(name), frame, **settings) for frame in frames)
    pd.testing.assert_frame_equal(same.front_, other.front_)
    assert other.sensitive_inputs_ == ("x0 ~ age",)


@pytest.mark.parametrize("wrapped", [lambda model: model, make_pipeline, lambda model: model.booster_])
def test_columns_with_spaces_are_found_although_lightgbm_stores_them_with_underscores(wrapped):
    x, y, a = (part[:200] for part in OWN)
    spaced = x.rename(columns={"x1": "b mass"})
    model = wrapped(lgb.LGBMRegressor(n_estimators=5, verbose=-1).fit(spaced, y))
    settings = {"sensitive_features": a, "points": 3, "seen": True}
    same, other = (relevel(model, frame, **settings) for frame in (spaced, spaced[spaced.columns[::-1]]))
    pd.testing.assert_frame_equal(same.front_, other.front_)


@pytest.mark.parametrize("method", ["auto", "correction"])
def test_linear_leaves_get_a_correction(method):
    """They were refused, also where a correction was asked for."""
    x, y, a = (part[:300] for part in OWN)
    model = lgb.LGBMRegressor(n_estimators=10, linear_tree=True, verbose=-1).fit(*TRAIN[:2])
    front = relevel(model, x, sensitive_features=a, y=y, method=method, points=3)
    assert front.front_["dpvar"].iloc[0] < 0.2 * front.front_["dpvar"].iloc[-1]
    np.testing.assert_array_equal(front.model(-1).predict(x), model.predict(x))
    with pytest.raises(InvalidInput, match=r"linear leaves.*use method='correction'"):
        relevel(model, x, sensitive_features=a, method="leaves")


@pytest.mark.skipif(int(xgb.__version__.partition(".")[0]) < 3, reason="XGBoost 2 knows categories by number alone")
def test_what_xgboost_says_comes_without_its_stack_trace():
    towns = pd.Categorical(np.where(OWN[0]["x1"] > 0, "north", "south"))
    model = xgb.XGBRegressor(n_estimators=3, enable_categorical=True).fit(OWN[0].assign(town=towns), OWN[1])
    with pytest.raises(InvalidInput, match=r"^XGBRegressor cannot predict these rows: ") as caught:
        relevel(model, OWN[0].assign(town=towns.rename_categories({"north": "west"})), sensitive_features=OWN[2])
    assert "\n" not in str(caught.value)


class _NeedsProfit:
    def predict(self, X):
        raise AttributeError("profit is missing")


def test_words_with_fit_do_not_mean_that_a_model_is_not_fitted():
    with pytest.raises(InvalidInput, match="_NeedsProfit cannot predict these rows: profit is missing"):
        relevel(_NeedsProfit(), OWN[0], sensitive_features=OWN[2])


def test_catboost_takes_its_columns_by_name():
    """A further column of text, or another order, ended in a traceback or in other predictions."""
    settings = {"iterations": 20, "depth": 3, "verbose": 0, "allow_writing_files": False}
    model = catboost.CatBoostRegressor(**settings).fit(*TRAIN[:2])
    more = OWN[0][OWN[0].columns[::-1]].assign(town="Paris", age=OWN[2]["age"])
    same, other = (relevel(model, x, sensitive_features=OWN[2], y=OWN[1]) for x in (OWN[0], more))
    pd.testing.assert_frame_equal(same.front_, other.front_)
    assert not any("reads sensitive attributes" in note for note in other.notes())


X, Y, A = OWN
CATBOOST = catboost.CatBoostRegressor(iterations=5, verbose=0, allow_writing_files=False)
BAD = {
    "unfitted CatBoost": (CATBOOST.copy(), X, A, {}, InvalidInput, "not fitted"),
    "CatBoost, other names": (
        CATBOOST.copy().fit(X, Y),
        X.rename(columns={"x0": "z"}),
        A,
        {},
        InvalidInput,
        "lacks 1 of the 5 columns",
    ),
    "CatBoost without names": (
        CATBOOST.copy().fit(X.to_numpy(), Y),
        X.to_numpy()[:, :3],
        A,
        {},
        InvalidInput,
        "CatBoostRegressor cannot predict these rows",
    ),
    "CatBoost without names, corrected": (
        CATBOOST.copy().fit(X.to_numpy(), Y),
        X.to_numpy()[:, :3],
        A,
        {"method": "correction"},
        InvalidInput,
        "CatBoostRegressor cannot predict these rows",
    ),
    "unfitted": (lgb.LGBMRegressor(), X, A, {}, InvalidInput, "not fitted"),
    "unfitted forest": (RandomForestRegressor(), X, A, {}, InvalidInput, "not fitted"),
    "unfitted linear": (LinearRegression(), X, A, {}, InvalidInput, "not fitted"),
    "three classes": (RandomForestClassifier(5).fit(X, np.sign(Y.round())), X, A, {}, InvalidType, "has 3 classes"),
    "no probabilities": (LinearSVC().fit(X, Y > 0), X, A, {}, InvalidType, "gives no probabilities"),
    "another class": (
        LogisticRegression().fit(X, Y > 0),
        X,
        A,
        {"y": Y.round()},
        InvalidInput,
        "the model knows 'False'",
    ),
    "class": (RandomForestRegressor, X, A, {}, InvalidType, "is a class"),
    "no model": (3, X, A, {}, InvalidType, "a fitted model or a predict function"),
    "other names": (
        LinearRegression().fit(X, Y),
        X.rename(columns={"x0": "z"}),
        A,
        {},
        InvalidInput,
        "lacks 1 of the 5 columns",
    ),
    "other columns": (
        lgb.train({"verbosity": -1}, lgb.Dataset(X, Y), 2),
        X.rename(columns={"x0": "z"}),
        A,
        {},
        InvalidInput,
        "lacks 1 of the 5 columns",
    ),
    "other number of columns": (
        lgb.train({"verbosity": -1}, lgb.Dataset(X, Y), 2),
        X.to_numpy()[:, :3],
        A,
        {},
        InvalidInput,
        "X has 3 columns; the model was trained on 5",
    ),
    "missing A": (LinearRegression().fit(X, Y), X, A.assign(age=np.nan), {}, InvalidInput, "missing values"),
    "two outputs": (RandomForestRegressor(3).fit(X, np.c_[Y, Y]), X, A, {}, InvalidInput, "one finite number per row"),
    "trees of a line": (LinearRegression().fit(X, Y), X, A, {"method": "trees"}, InvalidInput, "has none"),
    "method": (LinearRegression().fit(X, Y), X, A, {"method": "leafs"}, UnknownName, "Did you mean 'leaves'"),
    "few rows": (LinearRegression().fit(X, Y), X[:20], A[:20], {}, InvalidInput, "at least 60"),
    "y": (LinearRegression().fit(X, Y), X, A, {"y": Y[:5]}, InvalidInput, "y has 5 rows"),
    "constant A": (LinearRegression().fit(X, Y), X, A * 0, {}, InvalidInput, "a single value per column"),
    "constant A where weights count": (
        LinearRegression().fit(X, Y),
        X,
        A[["age"]].clip(lower=0),
        {"sample_weight": A["age"] <= 0},
        InvalidInput,
        "a single value per column",
    ),
    "weights": (LinearRegression().fit(X, Y), X, A, {"sample_weight": -Y.abs()}, InvalidInput, "sample_weight"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_one_sentence(name):
    model, x, a, settings, kind, sentence = BAD[name]
    with pytest.raises(kind, match=sentence):
        relevel(model, x, sensitive_features=a, **settings)


def test_an_ensemble_of_one_tree_works():
    model = RandomForestRegressor(1, min_samples_leaf=20, random_state=0).fit(*TRAIN[:2])
    front = relevel(model, OWN[0], sensitive_features=OWN[2], y=OWN[1])
    assert front.front_["dpvar"].iloc[0] < 0.2 * front.front_["dpvar"].iloc[-1]


def test_a_predict_function_is_enough():
    model = fitted("lightgbm")
    front = relevel(lambda x: model.predict(x), OWN[0], sensitive_features=OWN[2], y=OWN[1])
    best = front.best(max_share=0.1)
    (interval,) = fresh_evaluator().intervals([best.predict(FRESH[0])])
    assert interval.share < 0.15
    with pytest.raises(InvalidInput, match="cannot be saved"):
        best.save("anywhere")
    for same in (front.model(-1), front.best(max_share=1.0)):  # the function itself came back, without predict
        np.testing.assert_array_equal(same.predict(FRESH[0]), model.predict(FRESH[0]))


class Stumps:
    """A user's own ensemble, with the members of TreeEnsemble itself."""

    log_odds = False
    training_counts: ClassVar[list[np.ndarray]] = []

    def __init__(self, leaf_values):
        self.leaf_values = leaf_values

    def leaves(self, X):
        return (np.asarray(X)[:, : len(self.leaf_values)] > 0).astype(np.int32)

    def predict(self, X):
        return 20 + sum(values[leaf] for values, leaf in zip(self.leaf_values, self.leaves(X).T, strict=True))

    total = predict

    def with_leaf_values(self, values):
        return Stumps(values)


def test_an_ensemble_of_a_users_own_is_changed_without_a_registry():
    x, y, a = OWN
    model = Stumps([np.array([-1.0, 1.0]), np.array([-0.5, 0.5])])
    front = relevel(model, x, sensitive_features=a, y=y + 20, points=3)
    assert front.kind_ == "2 trees (Stumps)"
    assert isinstance(front.model(0), Stumps)
    assert front.model(0).predict(x).mean() == pytest.approx(y.mean() + 20, abs=0.1)
    assert front.front_["dpvar"].iloc[0] < 0.5 * front.front_["dpvar"].iloc[-1]


def test_only_columns_that_the_model_reads_are_called_its_inputs():
    """A sensitive column of X that the model does not read was named as one that it reads."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.standard_normal((300, 3)), columns=["age", "x", "sex"])
    y = X["age"] + X["x"]
    model = LinearRegression().fit(X[["age", "x"]], y)
    front = relevel(model, X, sensitive_features=X[["age", "sex"]], y=y, seen=True)
    assert front.sensitive_inputs_ == ("age ~ age",)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("as_given", [pd.DataFrame, pd.DataFrame.to_numpy])
def test_pipelines_of_text_alone_work(as_given, sparse):
    """The search for copies of A had no column of numbers to look at, and a sparse matrix was no rows of trees."""
    random = np.random.default_rng(0)
    rows = pd.DataFrame({"town": random.choice(list("uvwx"), 300), "job": random.choice(list("abc"), 300)})
    y = rows["town"].map(ord) + random.standard_normal(300)
    a = (rows["town"] > "v") + random.standard_normal(300)
    forest = RandomForestRegressor(10, min_samples_leaf=5, random_state=0)
    X = as_given(rows)
    model = make_pipeline(OneHotEncoder(sparse_output=sparse), forest).fit(X[:100], y[:100])
    front = relevel(model, X[100:], sensitive_features=a[100:], y=y[100:], points=3)
    np.testing.assert_array_equal(front.model(-1).predict(X), model.predict(X))
    assert type(front.model(0)[-1]) is RandomForestRegressor


def test_classes_of_a_booster_may_be_objects():
    x, y, a = (each[:150] for each in OWN)
    positive = (y > np.median(y)).astype(int)
    booster = lgb.train({"objective": "binary", "verbosity": -1}, lgb.Dataset(FRESH[0], FRESH[1] > FRESH[1].mean()), 5)
    fronts = [
        relevel(booster, x, sensitive_features=a, y=labels, points=3).front_
        for labels in (positive, np.asarray(positive).astype(object))
    ]
    pd.testing.assert_frame_equal(*fronts)


def _weighted(rows):
    return rows["x0"] * 2 + rows["x1"]


@pytest.mark.parametrize("model", [_weighted, LinearRegression().fit(*TRAIN[:2]), LogisticRegression().fit(X, Y > 0)])
def test_corrected_models_find_columns_by_name(model):
    """Columns in another order were read by position: predictions were wrong without a word."""
    x, a = OWN[0][:200], OWN[2][:200]
    changed = relevel(model, x, sensitive_features=a, points=3).model(0)
    predict = getattr(changed, "predict_proba", changed.predict)
    backwards = x[x.columns[::-1]]
    np.testing.assert_array_equal(predict(backwards), predict(x))
    np.testing.assert_array_equal(predict(pl.from_pandas(backwards)), predict(x))
    np.testing.assert_array_equal(changed.feature_names_in_, x.columns)
    with pytest.raises(InvalidInput, match="lacks 1 of the 5 columns seen in fit: 'x0'"):
        predict(x.drop(columns="x0"))
    with pytest.raises(InvalidInput, match="1 columns that fit did not see: 'more'"):
        predict(x.assign(more=1.0))


def test_corrected_models_of_frames_take_arrays():
    x, a = OWN[0][:200], OWN[2][:200]
    corrected = relevel(lambda rows: np.asarray(rows)[:, 0], x, sensitive_features=a, points=3).model(0)
    np.testing.assert_array_equal(corrected.predict(x.to_numpy()), corrected.predict(x))
    with pytest.raises(InvalidInput, match="X has 4 columns; the correction reads 5"):
        corrected.predict(x.to_numpy()[:, :4])


def test_boosters_of_several_quantiles_are_refused_by_what_they_predict():
    """Adding up their trees ended in an error of NumPy on shapes."""
    model = xgb.XGBRegressor(objective="reg:quantileerror", quantile_alpha=[0.1, 0.9], n_estimators=3)
    model.fit(FRESH[0], FRESH[1])
    with pytest.raises(InvalidInput, match=r"an array of shape \(\d+, 2\).*one finite number per row is needed"):
        relevel(model, FRESH[0], sensitive_features=FRESH[2])


@pytest.mark.parametrize("name", ["lightgbm", "linear"])
def test_rows_of_weight_zero_are_not_there(name):
    """With groups, one of them made all figures NaN, or ended in an error of LAPACK."""
    x, y, a = (part[:200] for part in OWN)
    weight, group = np.where(np.arange(200) % 7 == 0, 0.0, 1.0 + np.arange(200) % 2), np.arange(200) // 4
    counted = weight > 0
    found = relevel(fitted(name), x, sensitive_features=a, y=y, sample_weight=weight, groups=group, points=3)
    own = {"y": y[counted], "sample_weight": weight[counted], "groups": group[counted]}
    alone = relevel(fitted(name), x[counted], sensitive_features=a[counted], points=3, **own)
    pd.testing.assert_frame_equal(found.front_, alone.front_)
    with pytest.raises(InvalidInput, match="20 rows of positive weight were given; relevel needs at least 60"):
        relevel(fitted(name), x, sensitive_features=a, y=y, sample_weight=1.0 * (np.arange(200) < 20))


@pytest.mark.parametrize("name", ["forest", "linear"])
def test_a_front_can_be_pickled(name):
    x, y, a = (part[:200] for part in OWN)
    front = relevel(fitted(name), x, sensitive_features=a, y=y, points=3)
    again = pickle.loads(pickle.dumps(front))
    pd.testing.assert_frame_equal(again.front_, front.front_)
    np.testing.assert_array_equal(again.model(0).predict(x), front.model(0).predict(x))
    with pytest.raises(InvalidType, match=r"model\('knee'\) was asked for.*The knee is knee\(\)"):
        front.model("knee")

"""Ensembles of every library: their leaves add up to their predictions, and other leaves can be written."""

import warnings

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression

from fairlevel.exceptions import InvalidInput
from fairlevel.trees import ENSEMBLES, NotASumOfLeaves, read_ensemble
from fairlevel.trees.lightgbm_text import LightGBMText


@pytest.fixture(scope="module")
def rows():
    """Numbers with gaps and a category."""
    random = np.random.default_rng(0)
    n = 400
    x = pd.DataFrame(random.standard_normal((n, 4)), columns=list("abcd"))
    x["kind"] = pd.Categorical(random.integers(0, 6, n))
    y = 30 + x["a"] * x["b"] + 2 * (x["kind"].cat.codes % 2) + random.standard_normal(n) * 0.1
    x.loc[random.random(n) < 0.2, "a"] = np.nan
    return x, y


NUMBERS = ["b", "c", "d"]
LGB = {"verbose": -1, "n_jobs": 1, "min_child_samples": 5}
CATBOOST = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
MODELS = {
    "lightgbm": (lgb.LGBMRegressor(n_estimators=20, **LGB), None),
    "lightgbm dart": (lgb.LGBMRegressor(n_estimators=20, boosting_type="dart", **LGB), None),
    "lightgbm forest": (
        lgb.LGBMRegressor(n_estimators=9, boosting_type="rf", bagging_freq=1, bagging_fraction=0.7, **LGB),
        None,
    ),
    "xgboost": (xgb.XGBRegressor(n_estimators=15, enable_categorical=True, n_jobs=1), None),
    "xgboost dart": (xgb.XGBRegressor(n_estimators=9, booster="dart", rate_drop=0.3, enable_categorical=True), None),
    "xgboost forest": (xgb.XGBRFRegressor(n_estimators=9, n_jobs=1), NUMBERS),
    "histogram": (HistGradientBoostingRegressor(max_iter=15, categorical_features="from_dtype"), None),
    "gradient boosting": (GradientBoostingRegressor(n_estimators=15), NUMBERS),
    "gradient boosting from another model": (
        GradientBoostingRegressor(n_estimators=15, init=LinearRegression()),
        NUMBERS,
    ),
    "forest": (RandomForestRegressor(15, min_samples_leaf=3, random_state=0), NUMBERS),
    "one tree": (RandomForestRegressor(1, random_state=0), NUMBERS),
    "extra trees": (ExtraTreesRegressor(15, min_samples_leaf=3), NUMBERS),
    "catboost": (catboost.CatBoostRegressor(iterations=20, **CATBOOST), NUMBERS),
    "catboost, other shapes": (catboost.CatBoostRegressor(iterations=20, grow_policy="Lossguide", **CATBOOST), NUMBERS),
    "catboost, categories": (catboost.CatBoostRegressor(iterations=20, cat_features=["kind"], **CATBOOST), None),
}
TOLERANCE = {
    "xgboost": 1e-5,
    "xgboost dart": 1e-5,
    "xgboost forest": 1e-5,
    "gradient boosting from another model": 1e-5,
}


@pytest.fixture(params=MODELS, scope="module")
def case(request, rows):
    x, y = rows
    model, columns = MODELS[request.param]
    x = x if columns is None else x[columns]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(model) if not isinstance(model, catboost.CatBoostRegressor) else model.copy()
        return request.param, fitted.fit(x, y), x


def test_leaves_add_up_to_predictions(case):
    name, model, x = case
    ensemble = read_ensemble(model)
    leaves = ensemble.leaves(x)
    total = sum(values[leaves[:, tree]] for tree, values in enumerate(ensemble.leaf_values))
    rest = model.predict(x) - total
    if "another model" in name:
        rest = rest - model.init_.predict(x.to_numpy())
    assert np.ptp(rest) < 1e-9 + TOLERANCE.get(name, 0) * np.abs(total).max()
    np.testing.assert_array_equal(ensemble.total(x), model.predict(x))


def test_other_values_can_be_written_and_the_model_is_left_alone(case):
    name, model, x = case
    before = model.predict(x).copy()
    ensemble = read_ensemble(model)
    random = np.random.default_rng(1)
    values = [own + random.standard_normal(len(own)) for own in ensemble.leaf_values]
    changed = ensemble.with_leaf_values(values)
    assert type(changed) is type(model)
    leaves = ensemble.leaves(x)
    moved = sum(
        new[leaves[:, t]] - old[leaves[:, t]]
        for t, (new, old) in enumerate(zip(values, ensemble.leaf_values, strict=True))
    )
    tolerance = {"rtol": TOLERANCE.get(name, 1e-9), "atol": 10 * TOLERANCE.get(name, 1e-9)}
    np.testing.assert_allclose(changed.predict(x), before + moved, **tolerance)
    np.testing.assert_array_equal(model.predict(x), before)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_boosters_alone(rows, library):
    x, y = rows
    x = x[NUMBERS]
    if library == "lightgbm":
        model = lgb.train({"verbosity": -1}, lgb.Dataset(x, y), 20)
        predict = lambda model: model.predict(x)  # noqa: E731
    else:
        model = xgb.train({}, xgb.DMatrix(x, y), 20)
        predict = lambda model: model.predict(xgb.DMatrix(x))  # noqa: E731
    ensemble = read_ensemble(model)
    changed = ensemble.with_leaf_values([2 * values for values in ensemble.leaf_values])
    assert type(changed) is type(model)
    constant = predict(model) - sum(v[ensemble.leaves(x)[:, t]] for t, v in enumerate(ensemble.leaf_values))
    np.testing.assert_allclose(predict(changed), 2 * predict(model) - constant, rtol=1e-4)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "xgboost with a callback", "histogram"])
def test_early_stopped_models_use_the_trees_of_their_best_iteration(rows, library):
    x, y = rows
    x, noise = x[NUMBERS], y + np.random.default_rng(2).standard_normal(len(y)) * 5
    if library == "lightgbm":
        stop = [lgb.early_stopping(3, verbose=False)]
        model = lgb.LGBMRegressor(n_estimators=200, **LGB).fit(
            x[:200], noise[:200], eval_X=x[200:], eval_y=noise[200:], callbacks=stop
        )
    elif library.startswith("xgboost"):
        stop = {"early_stopping_rounds": 3}
        if library == "xgboost with a callback":
            stop = {"callbacks": [xgb.callback.EarlyStopping(rounds=3)]}
        model = xgb.XGBRegressor(n_estimators=200, **stop)
        model.fit(x[:200], noise[:200], eval_set=[(x[200:], noise[200:])], verbose=False)
    else:
        model = HistGradientBoostingRegressor(max_iter=200, early_stopping=True, n_iter_no_change=3).fit(x, noise)
    ensemble = read_ensemble(model)
    assert len(ensemble.leaf_values) < 100
    changed = ensemble.with_leaf_values([0.5 * values for values in ensemble.leaf_values])
    total = sum(v[ensemble.leaves(x)[:, t]] for t, v in enumerate(ensemble.leaf_values))
    np.testing.assert_allclose(changed.predict(x), model.predict(x) - total / 2, rtol=1e-5)


def test_a_changed_early_stopped_booster_predicts_the_same_as_a_regressor(rows, tmp_path):
    """All trees of a booster are changed, but a regressor that read its file used those up to the best iteration."""
    x, y = rows
    x, noise = x[NUMBERS], y + np.random.default_rng(2).standard_normal(len(y)) * 5
    held_out = [(xgb.DMatrix(x[200:], noise[200:]), "new")]
    settings = {"evals": held_out, "early_stopping_rounds": 3, "verbose_eval": False}
    booster = xgb.train({}, xgb.DMatrix(x[:200], noise[:200]), 200, **settings)
    assert booster.best_iteration + 1 < booster.num_boosted_rounds()
    ensemble = read_ensemble(booster)
    changed = ensemble.with_leaf_values([0.5 * values for values in ensemble.leaf_values])
    changed.save_model(tmp_path / "changed.json")
    regressor = xgb.XGBRegressor()
    regressor.load_model(tmp_path / "changed.json")
    np.testing.assert_allclose(regressor.predict(x), changed.predict(xgb.DMatrix(x)), rtol=1e-6)
    assert booster.attr("best_iteration") is not None


def test_training_rows_are_known_by_their_counts(case):
    name, model, x = case
    counts, leaves = read_ensemble(model).training_counts, read_ensemble(model).leaves(x)
    if not counts or "lightgbm forest" in name or name == "xgboost forest":
        return  # bootstrap samples
    if name == "catboost, categories":
        return  # whose numbers are drawn anew for each row in training
    for tree, own in enumerate(counts):
        np.testing.assert_allclose(np.bincount(leaves[:, tree], minlength=len(own)), own, atol=0.5)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (lgb.LGBMRegressor(objective="poisson", n_estimators=3, **LGB), "poisson"),
        (lgb.LGBMRegressor(linear_tree=True, n_estimators=3, **LGB), "linear leaves"),
        (xgb.XGBRegressor(objective="reg:gamma", n_estimators=3), "reg:gamma"),
        (xgb.XGBRegressor(booster="gblinear", n_estimators=3), "no trees"),
        (HistGradientBoostingRegressor(loss="poisson", max_iter=3), "poisson"),
        (
            catboost.CatBoostRegressor(iterations=3, verbose=0, loss_function="Poisson", allow_writing_files=False),
            "Poisson",
        ),
    ],
)
def test_what_is_no_sum_of_leaves_says_so(rows, model, sentence):
    x, y = rows
    with pytest.raises(NotASumOfLeaves, match=sentence):
        read_ensemble(model.fit(x[NUMBERS], y.abs()))


def test_several_outputs_are_refused(rows):
    x, y = rows
    with pytest.raises(NotASumOfLeaves, match="2 outputs"):
        read_ensemble(RandomForestRegressor(3).fit(x[NUMBERS], np.c_[y, y]))


def test_other_models_have_no_ensemble():
    assert read_ensemble(LinearRegression()) is None
    assert {classes.partition(".")[0] for classes in ENSEMBLES} == {"lightgbm", "xgboost", "sklearn", "catboost"}


def test_text_that_is_no_model_is_refused():
    with pytest.raises(InvalidInput, match="no model"):
        LightGBMText.read("something else")

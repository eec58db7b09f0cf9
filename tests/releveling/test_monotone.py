"""Models with monotone constraints, which corrections would break, are refused whatever library trained them."""

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from catboost import CatBoostRegressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairlevel import FairnessPath, FairRegressor, relevel
from fairlevel.exceptions import InvalidInput
from fairlevel.predictors import Boosting

RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal(300)
X = RANDOM.standard_normal((300, 2)) + 0.6 * A[:, None]
Y = X[:, 0] - X[:, 1] + A
RISES_AND_FALLS = (1, -1)


def lightgbm_text(**parameters):
    """A booster as it comes out of a file."""
    booster = lgb.train({"verbose": -1, **parameters}, lgb.Dataset(X, Y), 10)
    return lgb.Booster(model_str=booster.model_to_string())


def catboost_file(folder, constraints):
    path = str(folder / "model.cbm")
    CatBoostRegressor(iterations=10, verbose=0, allow_writing_files=False, monotone_constraints=constraints).fit(
        X, Y
    ).save_model(path)
    return CatBoostRegressor().load_model(path)


CONSTRAINED = {
    "lightgbm": lambda c: lgb.LGBMRegressor(n_estimators=10, verbose=-1, monotone_constraints=c).fit(X, Y),
    "lightgbm, another name": lambda c: lightgbm_text(mc=list(c)),
    "xgboost": lambda c: xgb.XGBRegressor(n_estimators=10, monotone_constraints=c).fit(X, Y),
    "xgboost, as text": lambda c: xgb.XGBRegressor(n_estimators=10, monotone_constraints=str(c)).fit(X, Y),
    "xgboost booster": lambda c: xgb.train({"monotone_constraints": str(c)}, xgb.DMatrix(X, Y), 10),
    "catboost": lambda c: CatBoostRegressor(
        iterations=10, verbose=0, allow_writing_files=False, monotone_constraints=list(c)
    ).fit(X, Y),
    "histogram": lambda c: HistGradientBoostingRegressor(max_iter=10, monotonic_cst=c).fit(X, Y),
    "histogram, classes": lambda c: HistGradientBoostingClassifier(max_iter=10, monotonic_cst=c).fit(X, Y > 0),
    "forest": lambda c: RandomForestRegressor(10, monotonic_cst=c).fit(X, Y),
    "extra trees": lambda c: ExtraTreesRegressor(10, monotonic_cst=list(c)).fit(X, Y),
    "pipeline": lambda c: make_pipeline(StandardScaler(), RandomForestRegressor(10, monotonic_cst=c)).fit(X, Y),
    "inside another model": lambda c: CalibratedClassifierCV(
        HistGradientBoostingClassifier(max_iter=10, monotonic_cst=c)
    ).fit(X, Y > 0),
    "fairlevel": lambda c: FairRegressor(weight=0, predictor=Boosting(rounds=10, monotone=c)).fit(
        X, Y, sensitive_features=A
    ),
}


@pytest.mark.parametrize("method", ["auto", "correction"])
@pytest.mark.parametrize("name", CONSTRAINED)
def test_monotone_models_are_refused_whatever_would_change_them(name, method):
    with pytest.raises(InvalidInput, match=r"monotone constraints.*relevel\(model.predict, X, \.\.\.\)"):
        relevel(CONSTRAINED[name](RISES_AND_FALLS), X, sensitive_features=A, method=method)


def test_a_file_of_catboost_says_so_too(tmp_path):
    with pytest.raises(InvalidInput, match="monotone constraints"):
        relevel(catboost_file(tmp_path, [0, 1]), X, sensitive_features=A)


@pytest.mark.parametrize("name", ["lightgbm", "lightgbm, another name", "xgboost booster", "catboost", "histogram"])
def test_constraints_of_no_column_are_none(name):
    model = CONSTRAINED[name]((0, 0))
    given = (lambda rows: model.predict(xgb.DMatrix(rows))) if name == "xgboost booster" else model
    assert len(relevel(given, X, sensitive_features=A, seen=True, points=3)) == 3


def test_giving_constraints_up_takes_the_predict_function():
    model = CONSTRAINED["lightgbm"](RISES_AND_FALLS)
    front = relevel(model.predict, X, sensitive_features=A, seen=True)
    assert front.front_["share"].iloc[0] < front.front_["share"].iloc[-1]


@pytest.mark.parametrize("solver", ["boosting", "relevel"])
def test_a_solver_with_trees_of_its_own_ignores_no_promise(solver):
    path = FairnessPath(solver=solver, predictor=Boosting(monotone=RISES_AND_FALLS))
    with pytest.raises(InvalidInput, match=f"solver='{solver}' trains boosters of its own"):
        path.fit(X, Y, sensitive_features=A)

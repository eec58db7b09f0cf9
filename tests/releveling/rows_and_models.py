"""Rows and fitted models that tests of ``relevel`` share."""

from functools import cache

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairlevel import relevel
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics.evaluator import DPVarEvaluator


def draw(n, seed):
    random = np.random.default_rng(seed)
    a = pd.DataFrame({"age": random.standard_normal(n), "income": random.standard_normal(n)})
    x = pd.DataFrame(random.standard_normal((n, 5)), columns=[f"x{k}" for k in range(5)])
    x["x0"] += a["age"]
    y = x["x0"] + np.sin(2 * x["x1"]) * 2 + x["x2"] * x["x3"] + 0.3 * random.standard_normal(n)
    return x, y, a


TRAIN, OWN, FRESH = draw(900, 0), draw(900, 1), draw(3000, 2)
MODELS = {
    "lightgbm": lgb.LGBMRegressor(n_estimators=60, num_leaves=15, verbose=-1, n_jobs=1),
    "xgboost": xgb.XGBRegressor(n_estimators=40, max_depth=4, n_jobs=1),
    "histogram": HistGradientBoostingRegressor(max_iter=50),
    "forest": RandomForestRegressor(40, min_samples_leaf=3, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), lgb.LGBMRegressor(n_estimators=40, verbose=-1, n_jobs=1)).set_output(
        transform="pandas"
    ),
    "linear": LinearRegression(),
}


@cache
def fitted(name):
    return clone(MODELS[name]).fit(*TRAIN[:2])


@cache
def front_of(name):
    return relevel(fitted(name), OWN[0], sensitive_features=OWN[2], y=OWN[1])


@cache
def fresh_evaluator():
    return DPVarEvaluator(Attributes(FRESH[2].to_numpy()), 0)

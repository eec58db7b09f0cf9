"""Tree ensembles of LightGBM, XGBoost, scikit-learn and CatBoost: their leaves, read and written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlevel.trees.catboost_model import CatBoostEnsemble
from fairlevel.trees.lightgbm_model import LightGBMEnsemble
from fairlevel.trees.protocol import NotASumOfLeaves, TreeEnsemble
from fairlevel.trees.scikit_learn import HistogramBoosting, TreeSum
from fairlevel.trees.xgboost_model import XGBoostEnsemble

ENSEMBLES: dict[tuple[str, str], Callable[[Any], TreeEnsemble]] = {
    ("lightgbm", "Booster"): LightGBMEnsemble,
    ("lightgbm", "LGBMRegressor"): LightGBMEnsemble,
    ("lightgbm", "LGBMClassifier"): LightGBMEnsemble,
    ("xgboost", "Booster"): XGBoostEnsemble,
    ("xgboost", "XGBRegressor"): XGBoostEnsemble,
    ("xgboost", "XGBRFRegressor"): XGBoostEnsemble,
    ("xgboost", "XGBClassifier"): XGBoostEnsemble,
    ("xgboost", "XGBRFClassifier"): XGBoostEnsemble,
    ("sklearn", "RandomForestRegressor"): TreeSum,
    ("sklearn", "ExtraTreesRegressor"): TreeSum,
    ("sklearn", "GradientBoostingRegressor"): TreeSum,
    ("sklearn", "HistGradientBoostingRegressor"): HistogramBoosting,
    ("sklearn", "RandomForestClassifier"): TreeSum,
    ("sklearn", "ExtraTreesClassifier"): TreeSum,
    ("sklearn", "GradientBoostingClassifier"): TreeSum,
    ("sklearn", "HistGradientBoostingClassifier"): HistogramBoosting,
    ("catboost", "CatBoost"): CatBoostEnsemble,
    ("catboost", "CatBoostRegressor"): CatBoostEnsemble,
    ("catboost", "CatBoostClassifier"): CatBoostEnsemble,
}
"""By library and class; no library is imported to find out."""


def read_ensemble(model: Any) -> TreeEnsemble | None:
    """The ensemble of a fitted model of a known class or of a class derived from one, else None."""
    for kind in type(model).__mro__:
        reader = ENSEMBLES.get((kind.__module__.partition(".")[0], kind.__name__))
        if reader is not None:
            return reader(model)
    return None


__all__ = ["ENSEMBLES", "NotASumOfLeaves", "TreeEnsemble", "read_ensemble"]

"""Tree ensembles of LightGBM, XGBoost, scikit-learn and CatBoost: their leaves, read and written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlevel.trees.catboost_model import CatBoostEnsemble
from fairlevel.trees.lightgbm_model import LightGBMEnsemble
from fairlevel.trees.protocol import NotASumOfLeaves, TreeEnsemble
from fairlevel.trees.scikit_learn import HistogramBoosting, TreeSum
from fairlevel.trees.xgboost_model import XGBoostEnsemble

ENSEMBLES: dict[str, Callable[[Any], TreeEnsemble]] = {
    "lightgbm.Booster LGBMRegressor LGBMClassifier": LightGBMEnsemble,
    "xgboost.Booster XGBRegressor XGBRFRegressor XGBClassifier XGBRFClassifier": XGBoostEnsemble,
    "catboost.CatBoost CatBoostRegressor CatBoostClassifier": CatBoostEnsemble,
    "sklearn.RandomForestRegressor ExtraTreesRegressor RandomForestClassifier ExtraTreesClassifier": TreeSum,
    "sklearn.GradientBoostingRegressor GradientBoostingClassifier": TreeSum,
    "sklearn.HistGradientBoostingRegressor HistGradientBoostingClassifier": HistogramBoosting,
}
"""By library and the names of its classes; no library is imported to find out."""


def read_ensemble(model: Any) -> TreeEnsemble | None:
    """The ensemble of a fitted model: the model itself where it offers what a :class:`TreeEnsemble` does, or by a known
    class from which its own is derived; else None.
    """
    if hasattr(model, "with_leaf_values"):
        own: TreeEnsemble = model
        return own
    for kind in type(model).__mro__:
        for classes, reader in ENSEMBLES.items():
            library, _, names = classes.partition(".")
            if kind.__module__.partition(".")[0] == library and kind.__name__ in names.split():
                return reader(model)
    return None


__all__ = ["ENSEMBLES", "NotASumOfLeaves", "TreeEnsemble", "read_ensemble"]

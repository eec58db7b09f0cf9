"""Tree ensembles of LightGBM, XGBoost, scikit-learn and CatBoost: their leaves, read and written."""

"""Estimators with the interface of scikit-learn, fronts of models, and the way from input to both.

Files, in an order to read them:

- ``fair_estimator.py``, ``fair_regressor.py``, ``fair_classifier.py``: one model, at a weight or within a budget
- ``feature_rows.py``, ``reading.py``, ``settings.py``: from arguments to values
- ``one_model.py``, ``fitted_model.py``, ``whole_fit.py``: how that model is fitted
- ``fairness_path.py``, ``path_fit.py``: the whole front, from training to budgets on unseen rows
- ``relevel.py``, ``relevelled_front.py``: the front of a model that exists
- ``front.py``, ``front_figures.py``, ``front_page.py``: both fronts measured, as a table and as a page
- ``loading.py``: saved estimators
"""

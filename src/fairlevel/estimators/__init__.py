"""Estimators with the interface of scikit-learn, fronts of models, and the way from input to both.

Files, in an order to read them:

- ``fair_estimator.py``, ``fair_regressor.py``, ``fair_classifier.py``: one model, at a weight or within a budget
- ``feature_rows.py``, ``reading.py``, ``defaults.py``, ``settings.py``, ``budget.py``: from arguments to values
- ``one_model.py``, ``fitted_model.py``, ``figures_of_probabilities.py``, ``whole_fit.py``: how that model is fitted
- ``fairness_path.py``, ``path_fit.py``: the whole front, from training to budgets on unseen rows;
  ``selection_budget.py``, ``evaluated_rows.py``, ``evaluation.py``: mixtures chosen on some rows, measured on others
- ``path_front.py``, ``path_report.py``, ``front_figures.py``, ``front_page.py``: the front as a table and as a page
- ``relevel.py``, ``evaluated_corrections.py``, ``relevelled_front.py``: the front of a model that exists
- ``loading.py``: saved estimators
"""

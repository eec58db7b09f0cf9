"""DPVar of predictions, its interval and test, profiles along attributes, scorers.

Files, in an order to read them:

- ``dpvar.py``, ``interval.py``, ``compare.py``: what users call; ``inputs.py``, ``orientation.py`` read their arguments
- ``evidence.py``, ``estimators.py``: what an estimator of DPVar offers, and which one is used
- ``choice.py``: which conditional mean describes a prediction best; ``learnt_attributes.py``: A with learnt functions
- ``leave_one_out.py``, ``linear_estimators.py``: the estimate for linear means; ``streamed.py``,
  ``row_terms.py``: the same as sums over parts of the rows
- ``units.py``, ``row_groups.py``, ``leave_group_out.py``, ``group_scores.py``: where rows belong to groups
- ``no_disparity_test.py``: the test of DPVar = 0
- ``crossfit.py``, ``trained_estimator.py``: the paper's diagnostic, and means that are trained
- ``evaluator.py``, ``mixtures.py``: many predictions on the same rows, and mixtures of them
- ``profile.py``, ``few_units.py``, ``reliability.py``, ``scorers.py``: averages along an attribute, probabilities,
  model selection
"""

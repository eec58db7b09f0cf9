"""DPVar of predictions, its interval and test, profiles along attributes, scorers.

Files, in an order to read them:

- ``dpvar.py``, ``compare.py``: what users call; ``inputs.py`` reads their arguments
- ``evaluator.py``: many predictions on the same rows, and functions of A that are learnt from them; ``interval.py``:
  the evidence of each, and its interval
- ``choice.py``: which conditional mean describes a prediction best
- ``debiased.py``, ``units.py``: the estimate where rows, or groups of rows, are independent
- ``no_disparity_test.py``: the test of DPVar = 0
- ``mixtures.py``: mixtures of predictions
- ``profile.py``, ``reliability.py``, ``scorers.py``: averages along an attribute, probabilities, model selection
"""

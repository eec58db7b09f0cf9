"""From trained candidates to a front: budgets, mixtures, and one cross-fitted evaluation of both.

Files, in an order to read them:

- ``points.py``: models as rows of a table; ``budget.py``: what a user allows
- ``combiners.py``: the most accurate mixture, or single candidate, within a budget
- ``evaluation.py``: what that gives on rows that set no proportions
"""

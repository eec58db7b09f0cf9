"""Audits of predictions: how they differ across sensitive attributes.

Files, in an order to read them:

- ``audit.py``: an audit of rows in memory, from the call to its figures; ``answer.py`` is what it returns, ``page.py``
  the same as a page
- ``questions.py``, ``tables.py``, ``dependence.py``: DPVar of errors and decisions; where the disparity is; other
  measures
- ``flags.py``: what a reader should not overlook
- ``stored_audit.py``: an audit of Parquet files of any size, by a random sample
- ``drift.py``: how DPVar has changed since an earlier audit
"""

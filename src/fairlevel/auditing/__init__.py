"""Audits of predictions: how they differ across sensitive attributes.

Files, in an order to read them:

- ``audit.py``: an audit of rows in memory; ``answer.py`` is what it returns, ``page.py`` the same as a page
- ``questions.py``, ``flags.py``: what else is asked of the rows, and what a reader should not overlook
- ``side_figures.py``: figures beside DPVar, from ``attribution.py``, ``dependence.py``, ``worst_profiles.py`` and
  ``by_group.py``
- ``stored_audit.py``: an audit of Parquet files of any size, by a random sample
- ``drift.py``: how DPVar has changed since an earlier audit
"""

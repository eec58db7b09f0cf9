"""Audits of predictions: how they differ across sensitive attributes.

Files, in an order to read them:

- ``audit.py``: an audit of rows in memory; ``answer.py`` is what it returns, ``page.py`` the same as a page
- ``questions.py``, ``flags.py``: what else is asked of the rows, and what a reader should not overlook
- ``side_figures.py``: figures beside DPVar, from ``attribution.py``, ``dependence.py``, ``pairings.py``,
  ``worst_profiles.py``, ``near_profiles.py`` and ``by_group.py``
- ``audit_files.py``: an audit of Parquet files of any size, read three times: ``survey.py`` and ``stored_sample.py``
  for the first read, ``reads.py`` for sums, with ``stored_rows.py`` for the roles of columns
- ``sums_file.py``, ``drift.py``: sums as a baseline, and how DPVar has changed since
"""

"""The paper's study: methods, protocol, tasks and what came out.

Files, in an order to read them:

- ``protocol.py``, ``variants.py``: the rules; ``methods.py``: who competes, with ``systems`` for those that are no
  penalties
- ``datasets.py``, ``problem.py``: from a table to standardised rows in four parts
- ``task.py``, ``run.py``, ``synthetic.py``: one method on one problem, and all of them
- ``rows.py``, ``store.py``, ``file_lock.py``, ``kept.py``, ``commit.py``: results on disk
- ``analysis``, ``sections.py``, ``panels.py``, ``report.py``: from rows to tables, figures and a page
"""

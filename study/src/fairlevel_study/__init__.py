"""fairlevel-study: the paper's study of fairlevel: methods, protocol, tables, tasks, and what came out.

Files, in an order to read them:

- ``protocol.py``: the rules, and their variants; ``methods.py``: who competes, with ``penalties`` and ``systems`` that
  the product does not hold
- ``catalogue.py``, ``sources.py``: which tables there are, and where they come from
- ``datasets.py``: from a table to standardised rows in four parts
- ``task.py``, ``executors.py``: one method on one problem, and all of them, on a machine or a cluster
- ``rows.py``: results on disk
- ``analysis``, ``pages``: from rows to tables, figures and a page
- ``cli.py``: the command ``fairlevel-study``
"""

"""One loop for every penalty, predictor and grid.

Files, in an order to read them:

- ``engine.py``: the loop; ``outcome.py``: what it leaves behind
- ``objective.py``, ``line_search.py``: one step against the gradient of loss + weight · penalty
- ``ending.py``: when a configuration ends
- ``rows.py``, ``acting_penalty.py``: the rows of a step, and the penalty bound to them
- ``execution``: threads and CUDA graphs, for speed alone
"""

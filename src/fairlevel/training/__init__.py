"""One loop for every penalty, predictor and grid.

Files, in an order to read them:

- ``engine.py``: the loop; ``outcome.py``: what it leaves behind
- ``objective.py``: loss + weight · penalty on some rows, one step against its gradient, and how far to go
- ``ending.py``: when a configuration ends
- ``rows.py``: rows to train on
- ``threads.py``: tiles of a grid side by side
"""

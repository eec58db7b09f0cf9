"""One loop for every penalty, predictor and grid.

Files, in an order to read them:

- ``engine.py``: the loop; ``outcome.py``: what it leaves behind
- ``objective.py``: one step against the gradient of loss + weight · penalty, and how far it goes
- ``ending.py``: when a configuration ends
- ``rows.py``: the rows of a step
- ``threads.py``: tiles of a grid side by side
"""

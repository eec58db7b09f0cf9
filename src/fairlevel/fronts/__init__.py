"""Sets of models as points (MSE, DPVar): which to keep, which to choose, how good the set is. NumPy and pandas only."""

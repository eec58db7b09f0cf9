"""Models as points (MSE, DPVar): which are on the front, which to choose, how to mix them, how good a front is."""

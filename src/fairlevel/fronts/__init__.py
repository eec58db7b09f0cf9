"""Models as points (MSE, DPVar): which are on the front, which to choose, and how to mix them."""

"""Changing a model that exists: the columns of a correction, and coefficients that leave ever less disparity."""

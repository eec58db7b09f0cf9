"""Displays in the convention of scikit-learn: compute, then draw."""

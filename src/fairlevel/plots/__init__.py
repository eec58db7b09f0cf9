"""Figures as scikit-learn displays: an object holds what is drawn, and ``plot`` draws it."""

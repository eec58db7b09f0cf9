"""Fits of one estimator at several weights."""

from sklearn.base import clone


def fit_weights(estimator, weights, X, y, *, sensitive_features):
    """One fitted copy per weight."""
    copies = [clone(estimator).set_params(weight=float(weight)) for weight in weights]
    return [copy.fit(X, y, sensitive_features=sensitive_features) for copy in copies]

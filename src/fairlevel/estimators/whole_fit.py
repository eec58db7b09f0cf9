"""A fit succeeds as a whole or leaves nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from sklearn.base import BaseEstimator

from fairlevel.threads import numpy_on_one_thread, use_threads

Fit = TypeVar("Fit", bound=Callable[..., Any])


def all_or_nothing(fit: Fit) -> Fit:
    """Every attribute that ends in an underscore is removed before a fit, and again if the fit fails: weights are
    never combined with the column names of another fit, and a model that failed to train again does not predict. The
    fit uses as many threads as the estimator's ``n_jobs`` says; those of NumPy would keep a core busy after their work.
    """

    @wraps(fit)
    def whole(self: BaseEstimator, *arguments: Any, **named: Any) -> Any:
        _forget(self)
        try:
            with use_threads(self.n_jobs), numpy_on_one_thread():
                return fit(self, *arguments, **named)
        except BaseException:
            _forget(self)
            raise

    return whole  # type: ignore[return-value]


def _forget(estimator: BaseEstimator) -> None:
    for name in [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]:
        delattr(estimator, name)

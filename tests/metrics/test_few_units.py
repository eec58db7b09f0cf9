"""Errors of means of few rows, or groups."""

import numpy as np
import pytest

from fairlevel.metrics.few_units import JackknifeError
from fairlevel.metrics.profile import category_profiles


@pytest.mark.parametrize("share", [np.full(3, 1 / 3), np.array([0.5, 0.2, 0.2, 0.1])], ids=["equal", "unequal"])
def test_factor_and_degrees_of_freedom_are_those_of_the_quadratic_form(share):
    residual = np.eye(len(share)) - share
    form = residual.T @ np.diag((share / (1 - share)) ** 2) @ residual
    found = JackknifeError.of(np.append(share, 1.0), np.append(np.zeros(len(share), dtype=int), 1), 2)
    assert found.factor[0] == pytest.approx(np.trace(form) / (share @ share), rel=1e-12)
    assert found.freedom[0] == pytest.approx(np.trace(form) ** 2 / np.trace(form @ form), rel=1e-12)
    assert (found.factor[1], found.freedom[1]) == (1, 0)  # a single row


def test_bands_of_categories_of_three_rows_hold():
    """By the normal distribution 86 % of them did."""
    held = []
    for seed in range(200):
        prediction = np.random.default_rng(seed).standard_normal((1, 60))
        (profile,) = category_profiles(prediction, np.repeat(np.arange(20), 3), [str(each) for each in range(20)])
        held.append((profile.low <= 0) & (profile.high >= 0))
    assert np.mean(held) == pytest.approx(0.945, abs=0.012)

"""Every registered penalty sees what it should see, and is blind where it should be blind (n = 5000)."""

import numpy as np
import pytest

from fairlevel.penalties import PENALTIES
from tests.contracts.sanity import MEASURED_BY, RHO, draw, gaussian_hsic, measure, smoothed_gdp

DPVAR = [RHO**2, 2.0, 0.0, 0.0]
MEDIAN_DISTANCE = 0.954  # of two standard normals: √2 · 0.6745

# The truth in each of the four cases and how far the estimate may be from it; NaN: only the sign is known.
EXPECTED = {
    "fbo": (DPVAR, [0.05, 0.7, 0.03, 0.02]),  # gradient descent is slow on the tails of A²
    "itd": (DPVAR, [0.05, 0.7, 0.03, 0.02]),
    "fbo_closed": (DPVAR, [0.04, 0.25, 0.04, 0.02]),
    "fbo_root": (np.sqrt(np.array(DPVAR) + 0.05**2) - 0.05, [0.04, 0.09, 0.16, 0.1]),  # the root of the row above
    "r2": ([RHO**2, 0.0, 0.0, 0.0], [0.03, 0.02, 0.02, 0.005]),
    "gdp": (smoothed_gdp(), [0.02, 0.05, 0.06, 0.05]),
    "hsic": ([gaussian_hsic(RHO, 1.0, MEDIAN_DISTANCE), np.nan, np.nan, 0.0], [0.002, 0, 0, 0.0005]),
    "hsic_features": ([gaussian_hsic(RHO, 1.0, MEDIAN_DISTANCE), np.nan, np.nan, 0.0], [0.004, 0, 0, 0.0005]),
    "adversarial": ([RHO**2, 0.0, 0.0, 0.0], [0.03, 0.02, 0.02, 0.02]),
}


def test_every_penalty_has_a_row():
    assert set(EXPECTED) == set(MEASURED_BY) == set(PENALTIES)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_row_of_the_matrix(name):
    found, (truth, tolerance) = measure(name), EXPECTED[name]
    known = ~np.isnan(truth)
    assert (np.abs(found - truth)[known] <= np.asarray(tolerance)[known]).all(), found
    assert (found[~known] > 10 * found[3]).all(), found  # dependent: far above what independence leaves


def test_cases_are_what_they_claim():
    a, f = draw(200_000)
    assert abs(np.corrcoef(a[:, 0], f[0])[0, 1] - RHO) < 0.01
    assert abs(np.corrcoef(a[:, 0], f[1])[0, 1]) < 0.03
    assert abs(np.corrcoef(a[:, 0] ** 2, f[2].numpy() ** 2)[0, 1]) > 0.3  # the spread of A·Z follows A

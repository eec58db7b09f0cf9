"""Coverage of the interval of a drift: two independent months, equal or not, near zero or not."""

import numpy as np
import pytest

from fairlevel import dpvar_interval
from fairlevel.auditing.drift import Drift

REPLICATIONS, ROWS = 400, 500


def month(random, disparity):
    a = random.standard_normal(ROWS)
    return dpvar_interval(disparity**0.5 * a + random.standard_normal(ROWS), sensitive_features=a)


@pytest.mark.study
@pytest.mark.parametrize(("then", "now"), [(0.0, 0.0), (0.0, 0.1), (0.02, 0.02), (0.3, 0.3), (0.3, 0.1)])
def test_the_interval_covers_the_difference(then, now):
    random = np.random.default_rng(int(100 * then + 1000 * now))
    covered = above = below = 0
    for _ in range(REPLICATIONS):
        found = Drift(month(random, then), month(random, now))
        below += found.high < now - then
        above += found.low > now - then
        covered += found.low <= now - then <= found.high
    print(f"then {then}, now {now}: covered {covered / REPLICATIONS:.3f}, below {below}, above {above}")
    assert covered / REPLICATIONS > 0.95 - 3 * (0.95 * 0.05 / REPLICATIONS) ** 0.5

"""Coverage of the interval of a drift: two independent months, equal or not, near zero or not."""

import numpy as np
import pytest
import torch

from fairlevel.auditing.drift import Drift
from fairlevel.conditional_mean.attributes import Attributes
from fairlevel.metrics.choice import candidates_for
from fairlevel.metrics.streamed import Plan, measured

REPLICATIONS, ROWS = 400, 500


def month(random, disparity):
    a = random.standard_normal((ROWS, 1))
    return Attributes(a), (disparity**0.5 * a[:, 0] + random.standard_normal(ROWS))[None]


@pytest.mark.study
@pytest.mark.parametrize(("then", "now"), [(0.0, 0.0), (0.0, 0.1), (0.02, 0.02), (0.3, 0.3), (0.3, 0.1)])
def test_the_interval_covers_the_difference(then, now):
    random = np.random.default_rng(int(100 * then + 1000 * now))
    covered = above = below = 0
    for _ in range(REPLICATIONS):
        first, f = month(random, then)
        plan = Plan.of(candidates_for(torch.from_numpy(f), first, 0), first, f, 0)
        second, g = month(random, now)
        found = Drift.of("f", measured(plan, first, f)[0], measured(plan, second, g)[0])
        below += found.high < now - then
        above += found.low > now - then
        covered += found.low <= now - then <= found.high
    print(f"then {then}, now {now}: covered {covered / REPLICATIONS:.3f}, below {below}, above {above}")
    assert covered / REPLICATIONS > 0.95 - 3 * (0.95 * 0.05 / REPLICATIONS) ** 0.5

"""The interval is above 0 where the test rejects, and only there."""

import numpy as np
import pytest

from fairlevel import audit, dpvar_interval


def repeated(random):
    """Rows drawn with replacement: the test rejected where the estimate was below 0."""
    rows = random.integers(0, 150, 150)
    return random.standard_normal(150)[rows], random.standard_normal((150, 3))[rows]


def nearly_collinear(random):
    """What matters is the difference of two attributes that are nearly the same."""
    one, difference = random.standard_normal((2, 200))
    return 0.3 * difference + random.standard_normal(200), np.column_stack([one, one + 1e-5 * difference])


def weak(random):
    attributes = random.standard_normal((200, 3))
    return 0.2 * attributes[:, 0] + random.standard_normal(200), attributes


def groups_of_rows(random):
    labels = random.integers(0, 12, 200)
    return random.standard_normal(12)[labels] / 4 + random.standard_normal(200), labels.astype(str)


DESIGNS = {each.__name__: each for each in (repeated, nearly_collinear, weak, groups_of_rows)}


@pytest.mark.parametrize("name", DESIGNS)
def test_the_interval_is_above_0_where_the_test_rejects(name):
    rejected = []
    for seed in range(12):
        prediction, attributes = DESIGNS[name](np.random.default_rng(seed))
        for level in (0.9, 0.95):
            interval = dpvar_interval(prediction, sensitive_features=attributes, level=level)
            rejected.append(interval.p_value <= 1 - level)
            assert (interval.low > 0) == (interval.share_low > 0) == rejected[-1]
            assert interval.estimate > 0 or not rejected[-1]
    assert 0 < sum(rejected) < len(rejected)


def test_an_audit_never_says_that_predictions_move_by_nothing():
    """ "moves by ± 0 (0.0 % to 2.1 %), p = .017"."""
    for seed in range(12):
        prediction, attributes = repeated(np.random.default_rng(seed))
        answer = str(audit(prediction, sensitive_features=attributes))
        assert "± 0 " not in answer

"""Appendix D of the paper, on tables small enough to follow by hand."""

import numpy as np
import pytest

from fairlevel.exceptions import InvalidInput
from fairlevel_study.datasets import construct_sensitive, copies


def orthogonal(columns, rows=64):
    """Centred columns of unit length, none correlated with another."""
    random = np.random.default_rng(0)
    basis, _ = np.linalg.qr(np.column_stack([np.ones(rows), random.standard_normal((rows, columns))]))
    return basis[:, 1:]


def test_without_proxies_the_best_quarter_by_correlation():
    x = orthogonal(8)
    y = x @ np.array([0.1, 0.8, 0.2, 0.3, 0.7, 0.05, 0.15, 0.25])  # c_j in these proportions, p_j = 0
    assert construct_sensitive(x, y, range(8), seed=0).tolist() == [1, 4]  # round(0.25 · 8) = 2


def test_proxies_lift_a_coordinate_above_a_better_predictor():
    base = orthogonal(6)
    x = base.copy()
    x[:, 1] = 0.9 * base[:, 0] + np.sqrt(1 - 0.81) * base[:, 1]  # corr(x_0, x_1) = 0.9
    y = 0.5 * base[:, 0] + 0.6 * base[:, 2] + 0.02 * base[:, 3]
    # |y| = √(.25 + .36 + .0004). c_0 = .640, c_1 = .9 · .640 = .576, c_2 = .768, c_3 = .0256, others below .02.
    # s_0 = .640 · 1.81 = 1.158, s_1 = .576 · 1.81 = 1.043, s_2 = .768, s_3 = .0256; pool of 4, so one is taken: x_0.
    assert construct_sensitive(x, y, range(6), seed=0).tolist() == [0]


def test_nothing_above_the_limit_falls_back_to_all():
    basis = orthogonal(5)
    x, y = basis[:, :4], basis @ np.array([0.01, 0.004, 0.002, 0.001, 0.9])
    assert construct_sensitive(x, y, range(4), seed=0).tolist() == [0]  # round(0.25 · 4) = 1


def test_indicators_of_one_column_stay_together_and_one_column_remains():
    x = orthogonal(5)
    y = x @ np.array([0.9, 0.1, 0.2, 0.3, 0.05])
    assert construct_sensitive(x, y, [0, 0, 1, 2, 3], seed=0).tolist() == [0, 1]
    # the strongest column owns the whole pool but one: taking it would leave x_1, which is fine
    assert construct_sensitive(x[:, :3], y, [0, 1, 0], seed=0).tolist() == [0, 2]
    # two columns, one of them the whole pool: it cannot be taken, nothing else can
    with pytest.raises(InvalidInput, match="come from one column"):
        construct_sensitive(x[:, :2], y, [0, 0], seed=0)


def test_ties_go_to_the_first_column():
    x = orthogonal(4)
    assert construct_sensitive(x, x.sum(axis=1), range(4), seed=0).tolist() == [0]


def test_one_usable_column_is_refused():
    x = orthogonal(3)
    with pytest.raises(InvalidInput, match="only one usable column"):
        construct_sensitive(x, x[:, 0], range(3), seed=0)


def test_wide_tables_sample_their_proxies_by_seed():
    random = np.random.default_rng(1)
    x = random.standard_normal((300, 320))
    y = x[:, :40] @ random.standard_normal(40) + random.standard_normal(300)
    one, same, other = (construct_sensitive(x, y, range(320), seed=seed) for seed in (0, 0, 1))
    assert one.tolist() == same.tolist()
    assert len(one) == len(other) == 50  # a quarter of the 200 that the pool may hold
    assert one.tolist() != other.tolist()


def test_copies_are_found():
    x = orthogonal(3)
    assert copies(np.column_stack([x[:, 1], -2 * x[:, 0] + 5]), x[:, [0]]).tolist() == [1]

"""Which models the study chooses, the best within a budget, and weights to try next: hand-computed cases."""

import numpy as np
import pandas as pd
import pytest

from fairlevel.exceptions import InvalidInput
from fairlevel.fronts.points import non_dominated
from fairlevel_study.points import ZETAS, best_mse, budgets_over_range, select
from fairlevel_study.refinement import propose


def points(*pairs, **columns):
    """Frame of (mse, dpvar) pairs."""
    return pd.DataFrame(pairs, columns=["mse", "dpvar"], dtype=float).assign(**columns)


FIVE = points((1.0, 0.0), (0.5, 0.2), (0.5, 0.3), (0.2, 0.9), (0.6, 0.2))


def test_one_point_and_none():
    assert list(select(points((0.5, 0.2))).index) == [0]
    assert select(points()).empty
    assert np.isnan(best_mse(points(), [1.0])).all()


def test_missing_and_infinite_rows_are_dropped():
    frame = points((0.5, 0.2), (np.nan, 0.1), (0.1, np.nan), (np.inf, 0.0), (0.4, 0.5))
    assert list(select(frame).index) == [0, 4]
    assert best_mse(frame, [0.15, 0.2, 1.0]).tolist() == pytest.approx([np.nan, 0.5, 0.4], nan_ok=True)


def test_selection_takes_the_hull_and_nothing_else():
    """(0.62, 0.45) is not dominated, but above the chord from (1, 0) to (0.2, 0.9)."""
    frame = points((1.0, 0.0), (0.62, 0.45), (0.2, 0.9))
    assert list(non_dominated(frame).index) == [0, 1, 2]
    assert list(select(frame).index) == [0, 2]
    below = points((1.0, 0.0), (0.5, 0.45), (0.2, 0.9))
    assert list(select(below).index) == [0, 1, 2]


def test_selection_ties_go_to_the_smaller_dpvar():
    frame = points((0.5, 0.5), (0.5, 0.1), (0.7, 0.0))
    assert list(select(frame, [0.0]).index) == [1]
    assert list(select(points((0.4, 0.2), (0.6, 0.1)), [2.0]).index) == [1]  # 0.8 = 0.8


@pytest.mark.parametrize("zetas", [[-0.1], [np.nan], [np.inf], []])
def test_selection_refuses_weights_that_are_none(zetas):
    with pytest.raises(InvalidInput, match="zetas="):
        select(FIVE, zetas)


def test_zeta_grid():
    assert ZETAS[0] == 0
    assert (ZETAS[1], ZETAS[-1], len(ZETAS)) == pytest.approx((0.01, 1000.0, 41))


def test_best_within_a_budget():
    assert best_mse(FIVE, [0.0, 0.2, 0.25, 2.0]).tolist() == [1.0, 0.5, 0.5, 0.2]
    assert np.isnan(best_mse(FIVE, [-0.1])).all()
    assert budgets_over_range([0.1, np.nan, 0.5]).tolist() == pytest.approx([0.2, 0.3, 0.4])
    assert np.isnan(budgets_over_range([np.nan])).all()
    with pytest.raises(InvalidInput, match="budgets="):
        best_mse(FIVE, [np.nan])


def test_refinement_fills_the_largest_gap_first():
    trained = points((0.2, 1.0), (0.3, 0.8), (1.0, 0.001), setting=0, weight=[0.0, 1.0, 100.0])
    assert propose(trained, 1, 12) == [(0, 10.0)]
    halves = [(0, 10.0), (0, pytest.approx(10**0.5)), (0, pytest.approx(10**1.5))]  # a gap that is filled is two
    assert propose(trained, 3, 12) == halves
    assert (0, 0.1) in propose(trained, 9, 12)
    assert propose(trained, 5, 4) == [(0, 10.0)]  # one free place
    assert propose(trained, 5, 3) == []
    assert propose(trained.assign(mse=np.nan), 5, 12) == []


def test_refinement_leaves_settings_off_the_front_alone():
    good = points((0.2, 1.0), (0.5, 0.001), setting=0, weight=[0.0, 4.0])
    bad = points((0.9, 1.1), (1.2, 0.4), setting=1, weight=[0.0, 4.0])
    trained = pd.concat([good, bad], ignore_index=True)
    assert {proposal.setting for proposal in propose(trained, 10, 12)} == {0}


def test_refinement_goes_on_where_the_front_ends_early():
    trained = points((0.2, 1.0), (0.3, 0.8), setting=0, weight=[0.0, 4.0])
    assert (0, 40.0) in propose(trained, 10, 12)  # the largest weight is still far from level
    diverged = points((0.2, 1.0), (0.3, 0.8), (np.nan, np.nan), setting=0, weight=[0.0, 4.0, 100.0])
    assert (0, 20.0) in propose(diverged, 10, 12)  # towards the weight that was too large
    assert all(weight < 100 for _, weight in propose(diverged, 10, 12))

"""Hand-computed cases."""

import numpy as np
import pandas as pd
import pytest

from fairlevel.candidates.penalty_grid import check_weights, coarse
from fairlevel.exceptions import InvalidInput, InvalidType
from fairlevel.fronts.budget import read_limit
from fairlevel.fronts.points import finite, non_dominated, point_name


def points(*pairs, **columns):
    """Frame of (mse, dpvar) pairs."""
    return pd.DataFrame(pairs, columns=["mse", "dpvar"], dtype=float).assign(**columns)


FIVE = points((1.0, 0.0), (0.5, 0.2), (0.5, 0.3), (0.2, 0.9), (0.6, 0.2))


def test_non_dominated_with_ties():
    front = non_dominated(FIVE)
    assert list(front.index) == [0, 1, 3]  # equal mse: smaller dpvar; equal dpvar: smaller mse


def test_of_equal_points_the_first_stays_and_dominated_copies_go():
    front = non_dominated(points((0.5, 0.2), (0.7, 0.4), (0.5, 0.2), (0.7, 0.4)))
    assert list(front.index) == [0]


def test_one_point_and_none():
    assert list(non_dominated(points((0.5, 0.2))).index) == [0]
    assert non_dominated(points()).empty


def test_missing_and_infinite_rows_are_dropped():
    frame = points((0.5, 0.2), (np.nan, 0.1), (0.1, np.nan), (np.inf, 0.0), (0.4, 0.5))
    assert list(finite(frame).index) == [0, 4]
    assert list(non_dominated(frame).index) == [0, 4]


def test_needs_both_figures():
    with pytest.raises(InvalidInput, match="lacks dpvar"):
        non_dominated(pd.DataFrame({"mse": [1.0]}))


@pytest.mark.parametrize("weights", [[-1.0, 0.0], [0.0, np.nan], [1.0, 1.0], [2.0, 1.0], []])
def test_weights_must_ascend_from_zero(weights):
    with pytest.raises(InvalidInput, match="weights="):
        check_weights(weights)


def test_coarse_grid_keeps_both_ends():
    weights = [0, 0.03, 0.1, 0.3, 1, 2, 5, 10, 20, 50, 100, 300]
    assert coarse(weights, 5).tolist() == [0, 0.1, 2, 20, 300]
    assert coarse(weights, 12).tolist() == weights
    assert coarse(weights, 20).tolist() == weights


def test_names_of_points_are_counted_from_one():
    assert [point_name(row) for row in (0, 8, 11, 99)] == ["point-01", "point-09", "point-12", "point-100"]


@pytest.mark.parametrize(
    ("name", "most", "kind", "sentence"),
    [
        ("max_share", "0.1", InvalidType, r"max_share='0\.1' was given; a number is needed"),
        ("max_share", 1.5, InvalidInput, r"max_share=1\.5 was given; a number above 0 and at most 1"),
        ("max_share", True, InvalidInput, "max_share=True was given; a number above 0 and at most 1"),
        ("max_dpvar", 0, InvalidInput, "max_dpvar=0 was given; a number above 0"),
        ("max_dpvar", np.nan, InvalidInput, "max_dpvar=nan was given; a number above 0"),
    ],
)
def test_limits_that_cannot_be_kept(name, most, kind, sentence):
    with pytest.raises(kind, match=sentence):
        read_limit(name, most)


def test_limits_are_numbers():
    assert (read_limit("max_share", 1), read_limit("max_dpvar", np.float32(2.5))) == (1.0, 2.5)

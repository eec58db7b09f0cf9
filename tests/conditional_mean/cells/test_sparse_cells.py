"""Profiles of few rows: which cells get an average, and which whole numbers are read as groups."""

import numpy as np
import pytest

from fairlevel import GroupMean, dpvar_interval
from fairlevel.conditional_mean.cells.discrete_columns import discrete_columns
from fairlevel.exceptions import InvalidInput

SIZES = (20, 15, 12)


def sparse_profiles(rows=9000, seed=0):
    random = np.random.default_rng(seed)
    profile = np.column_stack([random.integers(0, size, rows) for size in SIZES])
    effect = random.standard_normal(SIZES)[tuple(profile.T)]
    return profile.astype(float), effect, effect + random.standard_normal(rows)


def test_cells_of_one_or_two_rows_have_no_average():
    a, *_ = sparse_profiles(rows=3000)
    features = GroupMean().feature_map(a, np.full(len(a), 1 / len(a)), 0)
    cell, rows_in = np.unique(a, axis=0, return_counts=True)
    assert not features.cells_are_free
    assert features.kept.sum() == (rows_in >= 3).sum()
    of_cells = features(cell)[1]  # columns are free: only cells are penalised
    np.testing.assert_array_equal(of_cells.sum(axis=1), rows_in >= 3)
    np.testing.assert_array_equal(of_cells.sum(axis=0), 1)


def test_free_cells_are_all_kept():
    a = np.repeat(np.arange(40.0), 10)[:, None]
    a[:1] = 40  # a cell of one row
    features = GroupMean().feature_map(a, np.full(400, 1 / 400), 0)
    assert features.cells_are_free
    assert features.kept.all()


def test_thin_cells_do_not_silence_fuller_ones():
    """Effects of single profiles alone, 2.5 rows per profile: most of DPVar cannot be known, but half of it is."""
    a, effect, f = sparse_profiles()
    found = dpvar_interval(f, sensitive_features=a)
    assert found.regressor.startswith("groups")
    assert 0.5 * effect.var() < found.estimate < effect.var()
    assert found.p_value < 0.001


@pytest.mark.parametrize(
    ("filled", "categories", "least"),
    [
        ([1, 2, 2, 3, 4], 10, 3),
        ([3] * 500 + [4] * 500 + [9] * 10, 400, 4),  # 400 + 400 + 10 functions are more than 600, 410 are not
        ([3] * 500 + [4] * 500 + [9] * 10, 200, 3),
    ],
)
def test_the_emptiest_cells_are_left_out_first(filled, categories, least):
    assert GroupMean()._least_filled(np.array(filled), categories) == least


def test_no_cell_is_kept_where_none_is_affordable():
    filled = np.array([1, 2, 2])
    assert not (filled >= GroupMean()._least_filled(filled, 3)).any()


def test_of_many_whole_numbers_the_column_of_fewest_values_is_groups():
    random = np.random.default_rng(0)
    a = np.column_stack([random.integers(0, size, 8000) for size in (1000, 300, 150, 2)]).astype(float)
    np.testing.assert_array_equal(discrete_columns(a), [False, True, True, True])
    np.testing.assert_array_equal(discrete_columns(a[:, :1]), [True])
    np.testing.assert_array_equal(discrete_columns(a[:, [0, 3]]), [True, True])


def test_a_cell_has_a_row():
    with pytest.raises(InvalidInput, match="least_rows=0 was given; at least 1 is needed"):
        GroupMean(least_rows=0)

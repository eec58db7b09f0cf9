"""Profiles of few rows: which cells get an average, and which whole numbers are read as groups."""

import numpy as np
import pytest

from fairlevel import GroupMean, dpvar_interval
from fairlevel.conditional_mean.groups import discrete_columns
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
    assert features(cell).level is None
    of_cells = features(cell).penalised  # columns are free
    assert of_cells.shape[1] == (rows_in >= 3).sum()
    np.testing.assert_array_equal(of_cells.sum(axis=1), rows_in >= 3)
    np.testing.assert_array_equal(of_cells.sum(axis=0), 1)


def test_free_cells_are_counted():
    a = np.repeat(np.arange(40.0), 10)[:, None]
    a[:1] = 40  # a cell of one row
    features = GroupMean().feature_map(a, np.full(400, 1 / 400), 0)
    assert features(a).levels == 41
    np.testing.assert_array_equal(np.bincount(features(a).level), [9, *[10] * 39, 1])
    np.testing.assert_array_equal(features(np.array([[3.0], [40.0], [3.5], [99.0]])).level, [3, 40, -1, -1])


def test_thin_cells_do_not_silence_fuller_ones():
    """Effects of single profiles alone, 2.5 rows per profile: most of DPVar cannot be known, but a part of it is."""
    a, effect, f = sparse_profiles()
    found = dpvar_interval(f, sensitive_features=a)
    assert 0.4 * effect.var() < found.estimate < effect.var()
    assert found.p_value < 0.001


def test_the_emptiest_of_very_many_cells_are_left_out():
    random = np.random.default_rng(0)
    a = np.column_stack([random.integers(0, 40, 4000), random.integers(0, 30, 4000)]).astype(float)
    features = GroupMean().feature_map(a, np.full(4000, 1 / 4000), 0)
    cell, rows_in = np.unique(a, axis=0, return_counts=True)
    assert features(cell).level is None
    has_average = features(cell).penalised.any(axis=1)
    assert 200 < has_average.sum() <= 300
    assert rows_in[has_average].min() > rows_in[~has_average].max()


def test_of_many_whole_numbers_the_column_of_fewest_values_is_groups():
    random = np.random.default_rng(0)
    a = np.column_stack([random.integers(0, size, 8000) for size in (1000, 300, 150, 2)]).astype(float)
    np.testing.assert_array_equal(discrete_columns(a), [False, True, True, True])
    np.testing.assert_array_equal(discrete_columns(a[:, :1]), [True])
    np.testing.assert_array_equal(discrete_columns(a[:, [0, 3]]), [True, True])


def test_a_cell_has_a_row():
    with pytest.raises(InvalidInput, match="least_rows=0 was given; at least 1 is needed"):
        GroupMean(least_rows=0)
